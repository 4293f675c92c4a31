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

}  // namespace

bool is_sum(CollectiveKind kind) noexcept {
    return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_reduce;
}

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
    switch (call.kind) {
        case CollectiveKind::all_gather:
            return {{call.input_offset_bytes, call.blocks[static_cast<std::size_t>(rank)].bytes}};
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::all_reduce:
        case CollectiveKind::all_to_all:
        case CollectiveKind::send:
            return moved_by(call.blocks, call.input_offset_bytes);
        case CollectiveKind::broadcast:
            return call.peer == rank ? moved_by(call.blocks, call.input_offset_bytes) : std::vector<Block>{};
        case CollectiveKind::receive:
            break;
    }
    return {};
}

std::vector<Block> blocks_written(const CollectiveCall& call, int rank) {
    const auto me = static_cast<std::size_t>(rank);
    switch (call.kind) {
        case CollectiveKind::all_gather: {
            auto blocks = moved_by(call.blocks, call.output_offset_bytes);
            if (call.input + call.input_offset_bytes == call.output + blocks[me].offset_bytes) {
                blocks[me].bytes = 0;
            }
            return blocks;
        }
        case CollectiveKind::reduce_scatter:
            return {{call.output_offset_bytes, call.blocks[me].bytes}};
        case CollectiveKind::all_reduce:
        case CollectiveKind::receive:
            return moved_by(call.blocks, call.output_offset_bytes);
        case CollectiveKind::all_to_all:
            return moved_by(call.output_blocks, call.output_offset_bytes);
        case CollectiveKind::broadcast:
            return call.peer == rank ? std::vector<Block>{} : moved_by(call.blocks, call.output_offset_bytes);
        case CollectiveKind::send:
            break;
    }
    return {};
}

Block part_read_by_others(const CollectiveCall& call, int rank) noexcept {
    const bool is_own_block = call.kind == CollectiveKind::all_gather;
    return is_own_block ? Block{0, call.blocks[static_cast<std::size_t>(rank)].bytes} : hull(call.blocks);
}

std::int64_t bytes_touched(const CollectiveCall& call, int size) noexcept {
    const std::int64_t all = bytes_of_all(call.blocks);
    switch (call.kind) {
        case CollectiveKind::all_reduce: {
            const bool is_in_place =
                call.input + call.input_offset_bytes == call.output + call.output_offset_bytes;
            return all * size * (is_in_place ? 1 : 2);
        }
        case CollectiveKind::all_to_all:
            return 2 * all * size;  // assumes that the others' vectors have the same length
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::broadcast:
        case CollectiveKind::send:
        case CollectiveKind::receive:
            break;
    }
    return all * (size + 1);
}

std::int64_t bytes_to_pull(const CollectiveCall& call, std::span<const Block> pulls, int size, int rank) {
    const auto me = static_cast<std::size_t>(rank);
    const std::int64_t others = size - 1;
    switch (call.kind) {
        case CollectiveKind::all_gather:
            return bytes_of_all(call.blocks) - call.blocks[me].bytes;
        case CollectiveKind::reduce_scatter:
            return others * call.blocks[me].bytes;
        case CollectiveKind::all_reduce:
            return 2 * others * call.blocks[me].bytes;
        case CollectiveKind::all_to_all:
            return bytes_of_all(pulls) - pulls[me].bytes;
        case CollectiveKind::broadcast:
            return rank == call.peer ? 0 : call.blocks[0].bytes;
        case CollectiveKind::send:
            return 0;
        case CollectiveKind::receive:
            return call.blocks[0].bytes;
    }
    return 0;
}

}  // namespace ziggurat::comm
