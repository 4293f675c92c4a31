#include "comm/call_shape.hpp"

#include <algorithm>
#include <numeric>

namespace ziggurat::comm {
namespace {

std::vector<Block> moved_by(std::vector<Block> blocks, std::int64_t offset) {
    for (auto& block : blocks) {
        block.offset_bytes += offset;
    }
    return blocks;
}

/// Returns the blocks of one vector of a member, relative to the vector without its offset.
std::vector<Block> blocks_used(BlockUse use, const CollectiveCall& call, std::int64_t offset, int rank) {
    switch (use) {
        case BlockUse::none:
            return {};
        case BlockUse::own:
            return {{offset, call.blocks[rank].bytes}};
        case BlockUse::all:
            return moved_by(call.blocks, offset);
        case BlockUse::received:
            return moved_by(call.output_blocks, offset);
        case BlockUse::of_peer:
            return rank == call.peer ? moved_by(call.blocks, offset) : std::vector<Block>{};
        case BlockUse::of_others:
            return rank != call.peer ? moved_by(call.blocks, offset) : std::vector<Block>{};
    }
    return {};
}

}  // namespace

std::int64_t bytes_of_all(std::span<const Block> blocks) noexcept {
    return std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0},
                           [](std::int64_t sum, const Block& block) { return sum + block.bytes; });
}

Block hull(std::span<const Block> blocks) noexcept {
    Block all{};
    for (const auto& block : blocks) {
        if (block.bytes > 0) {
            const std::int64_t begin =
                all.bytes == 0 ? block.offset_bytes : std::min(all.offset_bytes, block.offset_bytes);
            const std::int64_t end = all.bytes == 0 ? block.end() : std::max(all.end(), block.end());
            all = {begin, end - begin};
        }
    }
    return all;
}

std::vector<Block> blocks_read(const CollectiveCall& call, int rank) {
    return blocks_used(row_of(call.kind).reads, call, call.input_offset_bytes, rank);
}

std::vector<Block> blocks_written(const CollectiveCall& call, int rank) {
    const CollectiveKindRow row = row_of(call.kind);
    auto blocks = blocks_used(row.writes, call, call.output_offset_bytes, rank);
    if (row.in_place == InPlace::input_in_output) {
        Block& own = blocks[rank];
        if (call.input + call.input_offset_bytes == call.output + own.offset_bytes) {
            own.bytes = 0;
        }
    }
    return blocks;
}

Block part_read_by_others(const CollectiveCall& call, int rank) noexcept {
    const bool is_own_block = row_of(call.kind).reads == BlockUse::own;
    return is_own_block ? Block{0, call.blocks[rank].bytes} : hull(call.blocks);
}

std::int64_t bytes_touched(const CollectiveCall& call, int size) noexcept {
    const CollectiveKindRow row = row_of(call.kind);
    const bool is_in_place = row.in_place == InPlace::equal &&
                             call.input + call.input_offset_bytes == call.output + call.output_offset_bytes;
    return bytes_of_all(call.blocks) * row.vectors_touched(size, is_in_place);
}

std::int64_t bytes_to_pull(const CollectiveCall& call, std::span<const Block> pulls, int size, int rank) {
    const CollectiveKindRow row = row_of(call.kind);
    const std::size_t me = rank;
    return row.bytes_to_pull({.all = bytes_of_all(call.blocks),
                              .own = call.blocks[row.has_one_block ? 0 : me].bytes,
                              .pulled = pulls.empty() ? 0 : bytes_of_all(pulls) - pulls[me].bytes,
                              .others = size - 1,
                              .is_peer = rank == call.peer});
}

}  // namespace ziggurat::comm
