/// Processors that this rank works with.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "comm/own_waits.hpp"
#include "device/device.hpp"
#include "device/host_thread.hpp"
#include "kernels/runtime.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// What a rank computes with, and the threads behind it. One per process; outlives everything that computes.
class RankProcessors {
  public:
    /// What the run's tiers.device says, with its threads; of several GPUs that of this rank.
    ///
    /// \param world  its WaitContext, of the calling thread, hears of waits for a device, and for threads
    ///               beside one
    /// Collective: over `world`
    /// Errors:     Error{resource} where the GPU cannot be used
    RankProcessors(const spec::RunSpec& run, const comm::Context& world);

    const device::Processors& all() const noexcept { return processors_; }
    /// Notes for people on where ranks run; on rank 0.
    const std::vector<std::string>& notes() const noexcept { return notes_; }

  private:
    comm::OwnWaits waits_;                        ///< beside a device
    std::unique_ptr<device::HostThread> thread_;  ///< beside a device
    std::optional<kernels::Runtime> runtime_;
    device::Processors processors_;
    std::vector<std::string> notes_;
};

}  // namespace ziggurat::app
