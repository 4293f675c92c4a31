/// Throttle that makes links between tiers slower than they are.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "comm/node/alarm.hpp"
#include "comm/node/node_memory.hpp"
#include "device/event.hpp"
#include "device/stream.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "train/step/action.hpp"

namespace ziggurat::train {

/// Lets ops of throttled ways end no sooner than their bytes allow: an op that starts at t on a way whose
/// ops before it have theirs until e is done at max(t, e) + bytes / rate, or when its bytes have moved,
/// whichever is later. As at a disk, ops for updates are behind all others, which pass those under way: they
/// then end so much later. Nobody computes meanwhile: what waits sleeps until then.
///
/// Control values, a few bytes in front of which nothing has to go, are let through.
///
/// Copies need nobody once they have started; several may be under way, so that a lane goes on by itself
/// while the thread that starts them computes.
class LinkThrottle {
  public:
    /// \param node  its bell wakes this rank when the time of an op has come
    /// Errors: Error{resource} when the system has no thread
    LinkThrottle(const spec::Throttle& rates, const comm::NodeMemory& node);
    LinkThrottle(const LinkThrottle&) = delete;
    LinkThrottle& operator=(const LinkThrottle&) = delete;

    /// `action` of `op` as this way does it; the same action where the way is not throttled.
    ///
    /// \param stream  that the action works on
    Action applied_to(const schedule::Program& program,
                      const schedule::Op& op,
                      const device::Stream& stream,
                      Action action);

  private:
    struct Stay;
    /// A way, which all lanes of an engine share.
    struct Way {
        double bytes_per_second = 0;
        std::int64_t busy_until_ns = 0;   ///< with ops that are not for updates
        std::vector<Stay*> updates = {};  ///< in the order of their starts, some of them done
    };
    /// One op under way.
    struct Stay {
        Way* way = nullptr;
        bool is_for_updates = false;
        std::int64_t duration_ns = 0;
        device::Event moved;  ///< its bytes, where the stream moves them
        std::int64_t ends_ns = 0;
    };

    Way* way_of(schedule::Engine engine);
    void begin(Stay& stay);
    void end_at(Stay& stay, std::int64_t time_ns);

    Way nvme_read_, nvme_write_, host_to_device_, device_to_host_;
    std::deque<Stay> stays_;  ///< by op, at places that stay
    std::unique_ptr<comm::Alarm> alarm_;
};

/// `nvme_read 400 MB/s, host_to_device 2000 MB/s, compute 20 ms`; empty when nothing is throttled.
std::string describe(const spec::Throttle& rates);

}  // namespace ziggurat::train
