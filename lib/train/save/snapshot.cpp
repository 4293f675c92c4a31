#include "train/save/snapshot.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "base/contract.hpp"
#include "kernels/elementwise.hpp"
#include "schedule/passes/saved_runs.hpp"
#include "train/save/held_pieces.hpp"

namespace ziggurat::train {
namespace {

std::span<float> words_at(std::byte* at, std::int64_t bytes) {
    ZG_EXPECTS(bytes % static_cast<std::int64_t>(sizeof(float)) == 0);
    return {reinterpret_cast<float*>(at), static_cast<std::size_t>(bytes) / sizeof(float)};
}

}  // namespace

Snapshot::Snapshot(const HeldState& state) : state_{state} {
    const auto& buffers = state.program.buffers;
    const int reserved = state.program.trainer_buffers.snapshot;
    has_copy_ = reserved >= 0;
    const auto bytes = has_copy_ ? buffers[static_cast<std::size_t>(reserved)].bytes : 0;
    auto* const copy = bytes > 0 ? state.memory.at(buffers[static_cast<std::size_t>(reserved)]) : nullptr;
    if (copy != nullptr) {
        kernels::fill_zero(state.processors.host, words_at(copy, bytes));
    }
    struct Copy {
        const std::byte* at;
        std::int64_t offset;  // in the buffer, of what is copied
    };
    std::map<int, Copy> copies;  // by buffer
    std::int64_t used = 0;
    for (const auto& saved : schedule::saved_runs(state.model, state.program)) {
        const auto& buffer = buffers[static_cast<std::size_t>(saved.buffer)];
        if (copy == nullptr || !saved.is_copied) {
            continue;
        }
        to_copy_.push_back({&buffer, saved.run.offset, words_at(copy + used, saved.run.bytes)});
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
    for (const auto& [buffer, offset_bytes, to] : to_copy_) {
        if (auto* const at = state_.memory.in_place(*buffer); at != nullptr) {
            kernels::convert<float, float>(state_.processors.host,
                                           words_at(at + offset_bytes, std::ssize(std::as_bytes(to))), to);
        } else {
            state_.memory.read(*buffer, offset_bytes, std::as_writable_bytes(to));
        }
    }
}

}  // namespace ziggurat::train
