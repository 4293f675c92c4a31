/// Throttle that slows down decoder layers, for experiments (debug.throttle.compute).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "comm/node/node_memory.hpp"
#include "comm/node/wakeup_timer.hpp"
#include "device/event.hpp"
#include "device/stream.hpp"
#include "schedule/step_program.hpp"
#include "train/ops/action.hpp"

namespace ziggurat::train {

/// Throttle that gives each decoder layer a minimum duration.
///
/// The last op of a layer's forward pass begins no sooner than a given time after its first op began, by the
/// clock of their stream. For the backward pass it is twice that time. The delay takes no CPU time: lanes of
/// other engines continue, and an idle rank sleeps. The delay counts as time of the held op. In an abandoned
/// step, no op is held.
class LayerThrottle {
  public:
    /// \param seconds  minimum duration of a forward pass; 0: no throttle
    /// \param node     its bell wakes this rank when an op may begin
    /// Errors: Error{resource} if no thread can be created
    LayerThrottle(double seconds, const comm::NodeMemory& node);
    LayerThrottle(const LayerThrottle&) = delete;
    LayerThrottle& operator=(const LayerThrottle&) = delete;

    /// Throttles the layers of `program`: changes its `actions`, which are ordered by op.
    ///
    /// \param streams  stream of each lane; empty: all lanes run on the host
    /// \pre ops of layers have no Action::may_begin
    void hold_layers(const schedule::Program& program,
                     const std::vector<device::Stream>& streams,
                     std::vector<Action>& actions);

  private:
    /// One running pass of a layer.
    struct Pass {
        std::int64_t min_ns = 0;
        device::Event begun;
        bool is_begun = false;
        bool is_awaited = false;  ///< the alarm is set to the end of the delay
    };

    bool may_end(Pass& pass);

    std::int64_t min_ns_;
    std::deque<Pass> passes_;  ///< a deque, because the addresses must stay valid
    std::unique_ptr<comm::WakeupTimer> alarm_;
};

}  // namespace ziggurat::train
