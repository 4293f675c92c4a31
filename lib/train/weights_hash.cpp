#include "train/weights_hash.hpp"

#include <xxhash.h>

#include <algorithm>
#include <span>

#include "base/contract.hpp"
#include "comm/control.hpp"

namespace ziggurat::train {

using schedule::StateKind;

namespace {

constexpr auto block = layout::FlatLayout::block;

/// Different for every block of a model; never to change, as hashes of runs are kept.
std::uint64_t seed_of(int unit, int tensor_rank, std::int64_t number) {
    return static_cast<std::uint64_t>(unit) << 48 ^ static_cast<std::uint64_t>(tensor_rank) << 40 ^
           static_cast<std::uint64_t>(number);
}

}  // namespace

std::uint64_t weights_hash(const comm::Communicator& world,
                           const schedule::ModelLayout& model,
                           const schedule::Program& program,
                           const state::TierMemory& memory) {
    const auto has_master = std::ranges::any_of(
        program.buffers, [](const schedule::Buffer& buffer) { return buffer.state == StateKind::master; });
    const auto kind = has_master ? StateKind::master : StateKind::parameters;
    std::uint64_t sum = 0;
    for (const auto& buffer : program.buffers) {
        const bool is_copy = buffer.unit == 0 && model.has_copy_of_embedding();
        if (buffer.lifetime != schedule::Lifetime::persistent || buffer.state != kind || is_copy ||
            model.context_rank != 0) {
            continue;
        }
        const auto unit = static_cast<std::size_t>(buffer.unit);
        const auto piece = model.shards[unit].shard(model.spans.data, model.data_rank);
        const auto end = std::min(piece.end, model.flats[unit].elements());
        const std::span<const float> held = memory.span<float>(buffer);
        ZG_ENSURES(piece.begin % block == 0);
        for (auto begin = piece.begin; begin < end; begin += block) {
            const auto values = held.subspan(static_cast<std::size_t>(begin - buffer.first_element),
                                             static_cast<std::size_t>(std::min(block, end - begin)));
            sum += XXH3_64bits_withSeed(values.data(), values.size_bytes(),
                                        seed_of(buffer.unit, model.tensor_rank, begin / block));
        }
    }
    comm::all_reduce_sum(world, {&sum, 1});
    return sum;
}

}  // namespace ziggurat::train
