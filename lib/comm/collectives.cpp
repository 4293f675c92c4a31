#include "comm/collectives.hpp"

#include <algorithm>
#include <functional>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/backoff.hpp"
#include "comm/wait_context.hpp"

namespace ziggurat::comm {
namespace {

struct Span {
    const std::byte* begin = nullptr;
    std::int64_t bytes = 0;

    bool overlaps(const Span& other) const {
        const std::less<> before;  // pointers of different arrays
        return bytes > 0 && other.bytes > 0 && before(begin, other.begin + other.bytes) &&
               before(other.begin, begin + bytes);
    }
    bool operator==(const Span&) const = default;
};

[[noreturn]] void refuse(const CollectiveCall& call, const std::string& problem) {
    throw Error{ErrorKind::internal, std::string{"the call '"} + call.label + "' (" + name_of(call.kind) +
                                         ") is malformed: " + problem +
                                         ". A bug in ziggurat: please report it with the deck."};
}

/// Returns the range from the first to the last byte of all blocks.
Span hull(const std::byte* base, const std::vector<Block>& blocks) {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool is_empty = true;
    for (const auto& block : blocks) {
        if (block.bytes > 0) {
            begin = is_empty ? block.offset_bytes : std::min(begin, block.offset_bytes);
            end = is_empty ? block.end() : std::max(end, block.end());
            is_empty = false;
        }
    }
    return {base + begin, end - begin};
}

void check_blocks(const CollectiveCall& call, const std::vector<Block>& blocks, std::size_t count) {
    if (blocks.size() != count) {
        refuse(call,
               std::to_string(blocks.size()) + " blocks where " + std::to_string(count) + " are needed");
    }
    for (const auto& block : blocks) {
        if (block.offset_bytes < 0 || block.bytes < 0) {
            refuse(call, "a block begins or ends before the vector");
        }
        const int unit = element_bytes(call.type);
        if (is_sum(call.kind) && (block.offset_bytes % unit != 0 || block.bytes % unit != 0)) {
            refuse(call, "a block splits an element");
        }
    }
}

void check_aliasing(const CollectiveCall& call, int rank) {
    if (call.input == nullptr || call.output == nullptr) {
        return;  // only one side exists, or neither (dry run)
    }
    const std::byte* in = call.input + call.input_offset_bytes;
    const std::byte* out = call.output + call.output_offset_bytes;
    const auto own = call.blocks[call.blocks.size() == 1 ? 0 : static_cast<std::size_t>(rank)];
    const Span whole_in = hull(in, call.blocks);
    const Span whole_out = hull(out, has_output_blocks(call.kind) ? call.output_blocks : call.blocks);
    switch (row_of(call.kind).in_place) {
        case InPlace::input_in_output: {
            const Span mine{in, own.bytes};
            if (mine.overlaps(whole_out) && in != out + own.offset_bytes) {
                refuse(call, "its input overlaps the output, but not in place");
            }
            break;
        }
        case InPlace::output_in_input: {
            const Span mine{out, own.bytes};
            if (mine.overlaps(whole_in) && out != in + own.offset_bytes) {
                refuse(call, "its output overlaps the input, but not in place");
            }
            break;
        }
        case InPlace::equal:
            if (whole_in.overlaps(whole_out) && in != out) {
                refuse(call, "input and output overlap, but not in place");
            }
            break;
        case InPlace::never:
            if (whole_in.overlaps(whole_out)) {
                refuse(call, "input and output overlap");
            }
            break;
        case InPlace::any:
            break;
    }
}

}  // namespace

void check_call(const CollectiveCall& call, int size, int rank) {
    const CollectiveKindRow row = row_of(call.kind);
    check_blocks(call, call.blocks, row.has_one_block ? 1 : size);
    if (has_output_blocks(call.kind)) {
        check_blocks(call, call.output_blocks, size);
        const std::size_t r = rank;
        if (call.blocks[r].bytes != call.output_blocks[r].bytes) {
            refuse(call, "the input and output blocks from this member to itself differ in size");
        }
    }
    if (row.has_one_block && (call.peer < 0 || call.peer >= size)) {
        refuse(call, "peer " + std::to_string(call.peer) + " of " + std::to_string(size) + " members");
    }
    if (row.is_between_two && (call.peer == rank || call.tag < 0)) {
        refuse(call, "a message to itself or with a negative tag");
    }
    if (call.sum_group < 0) {
        refuse(call, "a negative sum_group");
    }
    check_aliasing(call, rank);
}

void wait(Collectives& collectives, int call, const WaitContext& waits, NodeMemory* node) {
    Backoff idle{node};
    while (!collectives.poll(call)) {
        waits.check("a collective operation");
        idle.idle();
    }
    waits.end_wait();
}

}  // namespace ziggurat::comm
