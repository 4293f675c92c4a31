/// Devices of this rank: host or GPU, with their threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "comm/main_thread_waits.hpp"
#include "device/device.hpp"
#include "device/host_thread.hpp"
#include "kernels/launch/runtime.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Devices of a rank and their threads. One per process; must outlive all computation.
class RankProcessors {
  public:
    /// Creates the device of the run's tiers.device; of several GPUs, the GPU of this rank.
    ///
    /// \param world  waits for a GPU and for the host threads next to it are reported to its WaitContext (of
    ///               the calling thread)
    /// Collective: over `world`
    /// Errors:     Error{resource} if the GPU cannot be used
    RankProcessors(const spec::RunSpec& run, const comm::Context& world);

    const device::RankDevices& all() const noexcept { return devices_; }
    /// Returns notes for the user on the binding of ranks; valid on rank 0.
    const std::vector<std::string>& notes() const noexcept { return notes_; }

  private:
    comm::MainThreadWaits waits_;                 ///< used with a GPU
    std::unique_ptr<device::HostThread> thread_;  ///< exists with a GPU only
    std::optional<kernels::Runtime> runtime_;
    device::RankDevices devices_;
    std::vector<std::string> notes_;
};

}  // namespace ziggurat::app
