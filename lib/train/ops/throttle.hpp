/// Throttle that slows down links between tiers, for experiments (debug.throttle).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "comm/node/node_memory.hpp"
#include "comm/node/wakeup_timer.hpp"
#include "device/event.hpp"
#include "device/stream.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "train/ops/action.hpp"

namespace ziggurat::train {

/// Throttle of links between tiers and of the tensor axis.
///
/// An op on a throttled link ends no sooner than its bytes and the rate allow.
///
/// If an op starts at t and the earlier ops of the link end at e, it ends at max(t, e) + bytes / rate, but
/// not before its bytes have moved. As on a disk, other ops have priority over ops for updates: they overtake
/// running ops for updates, whose end is delayed accordingly. The delay takes no CPU time: a rank that waits
/// sleeps.
///
/// Control values, which are a few bytes, are not throttled.
///
/// Copies continue without the thread that started them. Several copies may be in flight, so that a lane
/// makes progress while that thread computes.
class LinkThrottle {
  public:
    /// \param node  its bell wakes this rank when an op ends
    /// Errors: Error{resource} if no thread can be created
    LinkThrottle(const spec::Throttle& rates, const comm::NodeMemory& node);
    LinkThrottle(const LinkThrottle&) = delete;
    LinkThrottle& operator=(const LinkThrottle&) = delete;

    /// Returns `action` of `op` with the delay of its link; unchanged if the link is not throttled.
    ///
    /// \param stream  stream that the action runs on
    Action applied_to(const schedule::Program& program,
                      const schedule::Op& op,
                      const device::Stream& stream,
                      Action action);

  private:
    struct Stay;
    /// A link, which all lanes of an engine share.
    struct Link {
        double bytes_per_second = 0;
        std::int64_t busy_until_ns = 0;   ///< end of the ops that are not for updates
        std::vector<Stay*> updates = {};  ///< ops for updates, in the order of their starts; some are done
    };
    /// One op on a link.
    struct Stay {
        Link* link = nullptr;
        bool is_for_updates = false;
        std::int64_t duration_ns = 0;
        device::Event moved;  ///< its bytes have moved, if the stream moves them
        std::int64_t ends_ns = 0;
    };

    /// Returns the link of the op; nullptr if it uses none.
    Link* link_of(const schedule::Program& program, const schedule::Op& op);
    void begin(Stay& stay);
    void end_at(Stay& stay, std::int64_t time_ns);

    Link nvme_read_, nvme_write_, host_to_device_, device_to_host_, tensor_;
    std::deque<Stay> stays_;  ///< by op; a deque, because the addresses must stay valid
    std::unique_ptr<comm::WakeupTimer> alarm_;
};

/// Returns `nvme_read 400 MB/s, host_to_device 2000 MB/s, compute 20 ms`; empty without a throttle.
std::string describe(const spec::Throttle& rates);

}  // namespace ziggurat::train
