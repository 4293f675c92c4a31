#include "train/snapshot.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "base/contract.hpp"
#include "kernels/elementwise.hpp"
#include "schedule/saved_runs.hpp"
#include "train/held_pieces.hpp"

namespace ziggurat::train {
namespace {

template <class E>
std::span<E> words_at(std::byte* at, std::int64_t bytes) {
    ZG_EXPECTS(bytes % static_cast<std::int64_t>(sizeof(float)) == 0);
    return {reinterpret_cast<E*>(at), static_cast<std::size_t>(bytes) / sizeof(float)};
}

}  // namespace

Snapshot::Snapshot(const HeldState& state) : stream_{state.stream} {
    const auto& buffers = state.program.buffers;
    const auto reserved = std::ranges::find(buffers, std::string{"snapshot"}, &schedule::Buffer::name);
    if (reserved != buffers.end()) {
        copy_ = state.memory.at(*reserved);
        kernels::fill_zero(stream_, words_at<float>(copy_, reserved->bytes));
    }
    struct Copy {
        const std::byte* at;
        std::int64_t offset;  // in the buffer, of what is copied
    };
    std::map<int, Copy> copies;  // by buffer
    std::int64_t used = 0;
    for (const auto& saved : schedule::saved_runs(state.model, state.program)) {
        if (copy_ == nullptr || !saved.is_copied) {
            continue;
        }
        auto* const from =
            state.memory.at(buffers[static_cast<std::size_t>(saved.buffer)]) + saved.run.offset;
        stretches_.push_back(
            {words_at<const float>(from, saved.run.bytes), words_at<float>(copy_ + used, saved.run.bytes)});
        copies[saved.buffer] = {copy_ + used, saved.run.offset};
        used += saved.run.bytes;
    }
    ZG_ENSURES(copy_ == nullptr || used == reserved->bytes);
    for (const auto& held : held_pieces(state.model, state.program, Extent::finest)) {
        if (!held.is_saved) {
            continue;
        }
        const auto* const lies =
            state.memory.at(buffers[static_cast<std::size_t>(held.buffer)]) + held.offset_bytes;
        const auto copy = copies.find(held.buffer);
        live_.push_back({held.piece, lies});
        copied_.push_back({held.piece, copy == copies.end()
                                           ? lies
                                           : copy->second.at + (held.offset_bytes - copy->second.offset)});
        payload_bytes_ += held.piece.bytes();
    }
}

void Snapshot::take() {
    ZG_EXPECTS(has_copy());
    for (const auto& stretch : stretches_) {
        kernels::convert<float, float>(stream_, stretch.from, stretch.to);
    }
}

}  // namespace ziggurat::train
