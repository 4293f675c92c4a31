#include "train/step/weights_hash.hpp"

#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "base/contract.hpp"
#include "comm/control.hpp"

namespace ziggurat::train {

namespace {

constexpr auto block = layout::FlatLayout::block;

/// Different for every block of a model; never to change, as hashes of runs are kept.
std::uint64_t seed_of(int unit, int tensor_rank, bool is_frozen, std::int64_t number) {
    return static_cast<std::uint64_t>(unit) << 48 ^ static_cast<std::uint64_t>(tensor_rank) << 40 ^
           static_cast<std::uint64_t>(is_frozen) << 39 ^ static_cast<std::uint64_t>(number);
}

/// Blocks that are in memory at a time.
constexpr std::int64_t blocks_at_once = 4096;

/// Of `elements`, which `buffer` holds, the sum over their blocks. `seed`: by a block's first element.
template <class Seed>
std::uint64_t hash_of(const schedule::Buffer& buffer,
                      layout::ElementRange elements,
                      const state::TierMemory& memory,
                      const Seed& seed) {
    const std::int64_t width = schedule::element_bytes(buffer);
    std::vector<std::byte> bytes;
    std::uint64_t sum = 0;
    for (auto begin = elements.begin; begin < elements.end; begin += blocks_at_once * block) {
        const auto end = std::min(begin + blocks_at_once * block, elements.end);
        bytes.resize(static_cast<std::size_t>((end - begin) * width));
        memory.read(buffer, (begin - buffer.first_element) * width, bytes);
        for (auto at = begin; at < end; at += block) {
            const auto size = std::min(block, end - at);
            sum += XXH3_64bits_withSeed(bytes.data() + (at - begin) * width,
                                        static_cast<std::size_t>(size * width), seed(at));
        }
    }
    return sum;
}

}  // namespace

std::uint64_t weights_hash(const comm::Context& world,
                           const schedule::ModelLayout& model,
                           const schedule::Program& program,
                           const state::TierMemory& memory) {
    std::uint64_t sum = 0;
    for (const auto& buffer : program.buffers) {
        const bool is_frozen = layout::is_of_frozen(buffer.state);
        const bool is_copy = buffer.unit == 0 && model.has_copy_of_embedding();
        if (buffer.lifetime != schedule::Lifetime::persistent || !is_saved(buffer.state, model.has_master) ||
            layout::row_of(buffer.state).piece != layout::PieceKind::weights || is_copy ||
            model.context_rank != 0) {
            continue;
        }
        const auto unit = static_cast<std::size_t>(buffer.unit);
        const auto& flat = model.flats[unit];
        const auto& shards = is_frozen ? model.frozen_shards[unit] : model.shards[unit];
        const auto first = is_frozen ? flat.trained_elements() : 0;
        const auto piece = shards.shard(model.spans.data, model.data_rank);
        const auto held = schedule::elements_of(buffer);
        const auto data_end = is_frozen ? flat.elements() : flat.trained_end();
        const layout::ElementRange mine{std::max(piece.begin, held.begin),
                                        std::min({piece.end, held.end, data_end})};
        ZG_ENSURES((piece.begin - first) % block == 0 && (mine.empty() || (mine.begin - first) % block == 0));
        sum += hash_of(buffer, mine, memory, [&](std::int64_t element) {
            return seed_of(buffer.unit, model.tensor_rank, is_frozen, (element - first) / block);
        });
    }
    comm::all_reduce_sum(world, {&sum, 1});
    return sum;
}

}  // namespace ziggurat::train
