/// Processors that this rank works with.
#pragma once

#include <memory>

#include "device/device.hpp"
#include "device/host_thread.hpp"
#include "kernels/runtime.hpp"

namespace ziggurat::app {

/// What a rank computes with, and the threads behind it: of the device that the program was built for. One
/// per process; outlives everything that computes.
class RankProcessors {
  public:
    explicit RankProcessors(int num_threads);

    const device::Processors& all() const noexcept { return processors_; }

  private:
    std::unique_ptr<device::HostThread> thread_;  ///< beside a device
    kernels::Runtime runtime_;
    device::Processors processors_;
};

}  // namespace ziggurat::app
