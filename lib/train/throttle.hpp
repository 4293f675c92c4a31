/// Ways between tiers that are made slower than they are.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "comm/node/node_memory.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "train/executor.hpp"

namespace ziggurat::train {

/// Lets ops of throttled lanes end no sooner than their bytes allow: an op that starts at t on a lane whose
/// ops before it have theirs until e is done at max(t, e) + bytes / rate, or when its bytes have moved,
/// whichever is later. Nobody computes meanwhile: what waits sleeps until then.
///
/// Copies are done when they start; several may be under way, so that a lane goes on by itself while the
/// thread that starts them computes.
class Throttle {
  public:
    /// \param node  whose bell wakes this rank when the time of an op has come
    /// Errors: Error{resource} when the system has no thread
    Throttle(const spec::Throttle& rates, const comm::NodeMemory& node);
    ~Throttle();
    Throttle(const Throttle&) = delete;
    Throttle& operator=(const Throttle&) = delete;

    /// `action` of `op` as this lane does it; the same action where the lane is not throttled.
    Action applied_to(const schedule::Program& program, const schedule::Op& op, Action action);

  private:
    struct LaneTime {
        double bytes_per_second = 0;
        std::int64_t busy_until_ns = 0;
    };
    /// One op under way.
    struct Stay {
        LaneTime* lane = nullptr;
        std::int64_t duration_ns = 0;
        std::int64_t ends_ns = 0;
    };
    class Alarm;

    LaneTime* lane_of(schedule::Engine engine);

    LaneTime nvme_read_, nvme_write_, host_to_device_, device_to_host_;
    std::deque<Stay> stays_;  ///< by op, at places that stay
    std::unique_ptr<Alarm> alarm_;
};

/// `nvme_read 400 MB/s, host_to_device 2000 MB/s`; empty when nothing is throttled.
std::string describe(const spec::Throttle& rates);

}  // namespace ziggurat::train
