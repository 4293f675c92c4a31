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
std::uint64_t seed_of(int unit, int tensor_rank, bool is_frozen, std::int64_t number) {
    return static_cast<std::uint64_t>(unit) << 48 ^ static_cast<std::uint64_t>(tensor_rank) << 40 ^
           static_cast<std::uint64_t>(is_frozen) << 39 ^ static_cast<std::uint64_t>(number);
}

/// Of the elements of the unit's flat range that `buffer` holds.
std::uint64_t hash_of(const schedule::Buffer& buffer,
                      layout::ElementRange elements,
                      const state::TierMemory& memory,
                      std::uint64_t seed) {
    const std::int64_t width = buffer.type == spec::DType::f32 ? 4 : 2;
    const auto bytes = memory.span<std::byte>(buffer).subspan(
        static_cast<std::size_t>((elements.begin - buffer.first_element) * width),
        static_cast<std::size_t>(elements.size() * width));
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
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
        const bool is_frozen = buffer.state == StateKind::frozen;
        const bool is_copy = buffer.unit == 0 && model.has_copy_of_embedding();
        if (buffer.lifetime != schedule::Lifetime::persistent || (buffer.state != kind && !is_frozen) ||
            is_copy || model.context_rank != 0) {
            continue;
        }
        const auto unit = static_cast<std::size_t>(buffer.unit);
        const auto& flat = model.flats[unit];
        const auto& shards = is_frozen ? model.frozen_shards[unit] : model.shards[unit];
        const auto first = is_frozen ? flat.trained_elements() : 0;
        const auto piece = shards.shard(model.spans.data, model.data_rank);
        const auto end = std::min(piece.end, is_frozen ? flat.elements() : flat.trained_end());
        ZG_ENSURES((piece.begin - first) % block == 0);
        for (auto begin = piece.begin; begin < end; begin += block) {
            sum += hash_of(buffer, {begin, std::min(begin + block, end)}, memory,
                           seed_of(buffer.unit, model.tensor_rank, is_frozen, (begin - first) / block));
        }
    }
    comm::all_reduce_sum(world, {&sum, 1});
    return sum;
}

}  // namespace ziggurat::train
