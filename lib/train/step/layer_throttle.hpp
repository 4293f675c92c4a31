/// Throttle that makes decoder layers slower than they are.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "comm/node/alarm.hpp"
#include "comm/node/node_memory.hpp"
#include "device/event.hpp"
#include "device/stream.hpp"
#include "schedule/step_program.hpp"
#include "train/step/action.hpp"

namespace ziggurat::train {

/// Lets the last op of a decoder layer's forward begin no sooner than some time after its first one began, by
/// the clock of their stream, and that of its backward after twice that. Nobody computes meanwhile: lanes of
/// other engines go on, and a rank that has nothing else to do sleeps. The time counts to the held op. In a
/// step that is given up nothing is held.
class LayerThrottle {
  public:
    /// \param seconds  of a forward; 0: holds nothing
    /// \param node     its bell wakes this rank when the time of an op has come
    /// Errors: Error{resource} when the system has no thread
    LayerThrottle(double seconds, const comm::NodeMemory& node);
    LayerThrottle(const LayerThrottle&) = delete;
    LayerThrottle& operator=(const LayerThrottle&) = delete;

    /// Holds layers of `program`, whose actions are `actions`, by op.
    ///
    /// \param streams  by lane, of what its actions run on; nothing: on the host
    /// \pre ops of layers may begin at any time
    void hold_layers(const schedule::Program& program,
                     const std::vector<device::Stream>& streams,
                     std::vector<Action>& actions);

  private:
    /// One pass of a layer under way.
    struct Pass {
        std::int64_t least_ns = 0;
        device::Event begun;
        bool is_begun = false;
        bool is_awaited = false;  ///< the alarm knows when it is over
    };

    bool may_end(Pass& pass);

    std::int64_t least_ns_;
    std::deque<Pass> passes_;  ///< at places that stay
    std::unique_ptr<comm::Alarm> alarm_;
};

}  // namespace ziggurat::train
