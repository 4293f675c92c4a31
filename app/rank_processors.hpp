/// Processors that this rank works with.
#pragma once

#include "device/device.hpp"
#include "kernels/runtime.hpp"

namespace ziggurat::app {

/// What a rank computes with, and the threads behind it. One per process; outlives everything that computes.
class RankProcessors {
  public:
    explicit RankProcessors(int num_threads);

    const device::Processors& all() const noexcept { return processors_; }

  private:
    kernels::Runtime runtime_;
    device::Processors processors_;
};

}  // namespace ziggurat::app
