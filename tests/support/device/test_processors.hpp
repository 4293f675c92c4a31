/// Processors for tests of whole assemblies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "device/device.hpp"
#include "device/host_thread.hpp"
#include "kernels/launch/runtime.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Threads of the kernels of a test program, on the device of the environment variable
/// ZIGGURAT_TEST_DEVICE.
///
/// Values of the variable:
///
///     host              the host's cores, the default
///     emulated_threads   device::EmulatedDevice, each of its streams on its own thread
///     emulated_polled    the same; each poll runs random pieces of the streams' work
///     cuda              a GPU, or its emulation in the build
///
/// One per process, made in `main`. It outlives all computations.
class TestKernels {
  public:
    /// \param seed  seed of a EmulatedDevice; different on each rank
    /// Errors: std::invalid_argument if the environment names an unknown device
    TestKernels(int num_threads, std::uint64_t seed);
    ~TestKernels();
    TestKernels(const TestKernels&) = delete;
    TestKernels& operator=(const TestKernels&) = delete;

  private:
    friend device::RankDevices processors_for_tests(int num_threads);
    friend device::RankDevices host_processors_for_tests(int num_threads);
    std::uint64_t seed_;
    std::unique_ptr<device::HostThread> thread_;  ///< with emulated_threads, and cuda
    std::optional<kernels::Runtime> runtime_;
};

/// Returns the processors of the program's TestKernels, or the host's cores without one.
///
/// Each call makes a device.
device::RankDevices processors_for_tests(int num_threads);

/// Returns the host's cores, on any test device. Each call makes a device.
device::RankDevices host_processors_for_tests(int num_threads);

/// Returns the device kind of processors_for_tests(), for the tiers of a run.
spec::DeviceKind device_kind_for_tests();

/// Returns true if the device is a EmulatedDevice.
bool tests_on_emulated_device();

/// Scope in which processors_for_tests() returns the host's cores, if they compute the same bits.
///
/// For trainings that are the reference of another device. A GPU has its own bits.
class OnHost {
  public:
    OnHost() noexcept;
    ~OnHost();
    OnHost(const OnHost&) = delete;
    OnHost& operator=(const OnHost&) = delete;
};

}  // namespace ziggurat::test
