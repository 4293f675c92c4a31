#include "train/exchange_average.hpp"

#include <algorithm>
#include <vector>

#include "base/contract.hpp"
#include "layout/state_kinds.hpp"
#include "schedule/passes/saved_runs.hpp"
#include "train/save/replicate_state.hpp"

namespace ziggurat::train {
namespace {

using layout::StateKind;

/// Bytes of each of the two windows in memory.
constexpr std::int64_t window_bytes = std::int64_t{1} << 20;

/// Exchanges the bytes of `elements` of a unit's flat range, which both buffers hold.
void exchange(const StateView& state,
              const schedule::Buffer& one,
              const schedule::Buffer& other,
              layout::ElementRange elements) {
    constexpr std::int64_t width = sizeof(float);
    std::vector<std::byte> first(std::min(window_bytes, elements.size() * width)), second(first.size());
    for (auto begin = elements.begin; begin < elements.end; begin += window_bytes / width) {
        const auto bytes = std::min(window_bytes, (elements.end - begin) * width);
        const auto offset_of = [&](const schedule::Buffer& buffer) {
            return (begin - buffer.first_element) * width;
        };
        const auto of_one = std::span{first}.first(bytes);
        const auto of_other = std::span{second}.first(bytes);
        state.memory.read(one, offset_of(one), of_one);
        state.memory.read(other, offset_of(other), of_other);
        state.memory.write(one, offset_of(one), of_other);
        state.memory.write(other, offset_of(other), of_one);
    }
}

}  // namespace

void exchange_average(const comm::Context& world, const StateView& state) {
    ZG_EXPECTS(state.model.masters != layout::Masters::ahead);
    state.drain();
    const auto weights =
        state.model.masters == layout::Masters::none ? StateKind::parameters : StateKind::master;
    const auto saved = schedule::saved_runs(state.model, state.program);
    for (const auto& average : saved) {
        const auto& averages = state.program.buffers[average.buffer];
        if (averages.state != StateKind::average) {
            continue;
        }
        std::int64_t exchanged = 0;
        for (const auto& other : saved) {
            const auto& buffer = state.program.buffers[other.buffer];
            if (buffer.state == weights && buffer.unit == averages.unit) {
                const auto both = intersection(average.elements, other.elements);
                exchange(state, buffer, averages, both);
                exchanged += both.size();
            }
        }
        ZG_ENSURES(exchanged == average.elements.size());
    }
    replicate_state(world, state, [&](StateKind kind) {
        return kind == StateKind::parameters || kind == weights || kind == StateKind::average;
    });
}

}  // namespace ziggurat::train
