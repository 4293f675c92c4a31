/// Processors that tests of whole assemblies work with.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "device/device.hpp"
#include "device/host_thread.hpp"
#include "kernels/runtime.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Threads behind the kernels of a test program, on the device that the environment's ZIGGURAT_TEST_DEVICE
/// names:
///
///     host              the host's cores, which is usual
///     delayed_threads   device::DelayedHost, each of its streams on a thread of its own
///     delayed_polled    the same; whoever polls runs random pieces of what its streams were given
///     cuda              a GPU, or what a build has in its place
///
/// One per process, made in `main`; outlives all that computes.
class TestKernels {
  public:
    /// \param seed  of what a DelayedHost does; another one on each rank
    /// Errors: std::invalid_argument when the environment names no such device
    TestKernels(int num_threads, std::uint64_t seed);
    ~TestKernels();
    TestKernels(const TestKernels&) = delete;
    TestKernels& operator=(const TestKernels&) = delete;

  private:
    friend device::Processors processors_for_tests(int num_threads);
    std::uint64_t seed_;
    std::unique_ptr<device::HostThread> thread_;  ///< with delayed_threads, and cuda
    std::optional<kernels::Runtime> runtime_;
};

/// Those of the program's TestKernels; the host's cores where it has none. Each call makes a device.
device::Processors processors_for_tests(int num_threads);

/// What the tiers of a run say of the device of processors_for_tests().
spec::DeviceKind device_kind_for_tests();

/// Whether that is a DelayedHost.
bool tests_on_delayed_device();

/// As long as it lives, processors_for_tests() gives the host's cores where these compute the same bits: for
/// trainings that say what others on another device must come to. Bits of a GPU are its own.
class OnHost {
  public:
    OnHost() noexcept;
    ~OnHost();
    OnHost(const OnHost&) = delete;
    OnHost& operator=(const OnHost&) = delete;
};

}  // namespace ziggurat::test
