#include "train/ops/layer_throttle.hpp"

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "schedule/layer_passes.hpp"

namespace ziggurat::train {

LayerThrottle::LayerThrottle(double seconds, const comm::NodeMemory& node)
    : min_ns_{static_cast<std::int64_t>(seconds * 1e9)} {
    if (min_ns_ > 0) {
        alarm_ = std::make_unique<comm::WakeupTimer>(node);
    }
}

bool LayerThrottle::may_end(Pass& pass) {
    if (!pass.begun.is_done()) {
        return false;  // the executor calls again: it polls while its device is busy
    }
    const auto end_ns = pass.begun.time_ns() + pass.min_ns;
    if (monotonic_ns() >= end_ns) {
        pass.is_begun = false;
        return true;
    }
    if (!pass.is_awaited) {
        alarm_->wake_at(end_ns);
        pass.is_awaited = true;
    }
    return false;
}

void LayerThrottle::hold_layers(const schedule::Program& program,
                                const std::vector<device::Stream>& streams,
                                std::vector<Action>& actions) {
    if (min_ns_ == 0) {
        return;
    }
    for (const auto& [first, last, forwards] : schedule::layer_passes(program)) {
        const std::size_t lane = program.ops[first].lane;
        const auto stream = streams.empty() ? device::Stream{1} : streams.at(lane);
        auto& begin = actions.at(first);
        auto& end = actions.at(last);
        ZG_EXPECTS(!begin.may_begin && !end.may_begin);
        passes_.push_back({.min_ns = forwards * min_ns_, .begun = device::Event{stream}});
        auto* pass = &passes_.back();
        const auto begins = [pass, stream] {
            pass->begun.record(stream);
            pass->is_begun = true;
            pass->is_awaited = false;
        };
        if (first != last) {
            begin.may_begin = [begins] {
                begins();
                return true;
            };
        }
        end.may_begin = [this, pass, begins] {
            if (!pass->is_begun) {
                begins();
            }
            return may_end(*pass);
        };
        end.hold_reason = "debug.throttle.compute";
    }
}

}  // namespace ziggurat::train
