#include "train/save/snapshot.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "base/contract.hpp"
#include "kernels/elementwise.hpp"
#include "schedule/passes/saved_runs.hpp"
#include "train/ops/late_failure.hpp"
#include "train/save/held_pieces.hpp"

namespace ziggurat::train {

Snapshot::Snapshot(const StateView& state)
    : state_{state}, device_stream_{state.devices.device->make_stream()} {
    const auto& buffers = state.program.buffers;
    const int reserved = state.program.trainer_buffers.snapshot;
    has_copy_ = reserved >= 0;
    const auto bytes = has_copy_ ? buffers[reserved].bytes : 0;
    std::byte* copy = nullptr;
    if (bytes > 0) {
        const auto words = state.memory.span<float>(buffers[reserved]);
        kernels::fill_zero<float>(state.devices.host, words);
        copy = std::as_writable_bytes(words).data();
    }
    struct Copy {
        const std::byte* at;
        std::int64_t offset;  // offset of the copied range in the buffer
    };
    std::map<int, Copy> copies;  // by buffer
    std::int64_t used = 0;
    for (const auto& saved : schedule::saved_runs(state.model, state.program)) {
        const auto& buffer = buffers[saved.buffer];
        if (copy == nullptr || !saved.is_copied) {
            continue;
        }
        const auto& stream = buffer.tier == spec::Tier::device ? device_stream_ : state_.devices.host;
        to_copy_.push_back(
            {&stream, copy + used, state.memory.at(buffer) + saved.run.offset, saved.run.bytes});
        copies[saved.buffer] = {copy + used, saved.run.offset};
        used += saved.run.bytes;
    }
    ZG_ENSURES(!has_copy_ || used == bytes);
    for (const auto& held : held_pieces(state.model, state.program, PieceExtent::finest)) {
        if (!held.is_saved) {
            continue;
        }
        live_.push_back(source_at_home(state, held));
        places_.push_back({held.buffer, held.offset_bytes});
        copied_.push_back(live_.back());
        if (const auto found = copies.find(held.buffer); found != copies.end()) {
            copied_.back().bytes = found->second.at + (held.offset_bytes - found->second.offset);
            copied_.back().read = {};
        }
        payload_bytes_ += held.piece.bytes();
    }
}

void Snapshot::take() {
    ZG_EXPECTS(has_copy());
    try {
        for (const auto& [stream, to, from, bytes] : to_copy_) {
            kernels::copy_bytes(*stream, {to, {bytes}}, {from, {bytes}});
        }
        device_stream_.finish();
    } catch (...) {
        throw_failure_of({"copying the state that a checkpoint takes"});
    }
}

}  // namespace ziggurat::train
