/// CollectiveKind, the kinds of collectives, as one table.
///
/// `row_of` holds all differences between kinds that do not depend on an implementation: the check of a call,
/// the blocks that it reads and writes, its volumes. A new kind is an enumerator, a row, and a function in
/// each implementation that supports it. CollectiveCall (collectives.hpp) describes the vectors and blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "base/enumerators.hpp"

namespace ziggurat::comm {

enum class CollectiveKind { all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, send, receive };

/// Blocks of its input that a member reads, or of its output that it writes.
enum class BlockUse {
    none,
    own,       ///< the member's own block, at the beginning of the vector
    all,       ///< `blocks`
    received,  ///< `output_blocks`, since members may send blocks of different sizes to each other
    of_peer,   ///< blocks[0] on member `peer`, no blocks on the others
    of_others  ///< blocks[0] on all members except `peer`
};

/// Overlaps of input and output that a call may have.
enum class InPlace {
    never,
    input_in_output,  ///< the input is the member's own block of the output
    output_in_input,  ///< the output is the member's own block of the input
    equal,            ///< input and output begin at the same address
    any
};

/// Numbers of a call on one member from which the bytes that the member pulls follow.
struct PullSizes {
    std::int64_t all = 0;     ///< bytes of `blocks`
    std::int64_t own = 0;     ///< bytes of this member's block, or of the only block
    std::int64_t pulled = 0;  ///< with `output_blocks`: bytes of the others' blocks for this member
    std::int64_t others = 0;  ///< number of other members
    bool is_peer = false;     ///< this member is `peer`
};

/// One row of the table.
///
/// Members have no defaults, so a new row or column without a value does not compile.
struct CollectiveKindRow {
    const char* name;     ///< used in messages; the op of a program that runs the kind has the same name
    bool is_sum;          ///< blocks are sums over members, so they consist of whole elements
    bool is_between_two;  ///< a message between this member and `peer`; the other members are not involved
    bool has_one_block;   ///< one block, and a `peer`, instead of one block per member
    BlockUse reads;       ///< of the input
    BlockUse writes;      ///< of the output
    InPlace in_place;
    /// Bytes of all inputs and outputs of all members, divided by the bytes of `blocks`.
    std::int64_t (*vectors_touched)(std::int64_t members, bool is_in_place);
    /// Bytes that a member reads from and writes to others' memory in one execution.
    std::int64_t (*bytes_to_pull)(const PullSizes& sizes);
};

/// Volume of kinds in which one member, or each member for its own block, has the whole vector.
constexpr std::int64_t one_vector_and_parts(std::int64_t members, bool /*is_in_place*/) {
    return members + 1;
}

/// Returns the row of a kind.
constexpr CollectiveKindRow row_of(CollectiveKind kind) {
    switch (kind) {
        case CollectiveKind::all_gather:
            return {.name = "all_gather",
                    .is_sum = false,
                    .is_between_two = false,
                    .has_one_block = false,
                    .reads = BlockUse::own,
                    .writes = BlockUse::all,
                    .in_place = InPlace::input_in_output,
                    .vectors_touched = one_vector_and_parts,
                    .bytes_to_pull = [](const PullSizes& sizes) { return sizes.all - sizes.own; }};
        case CollectiveKind::reduce_scatter:
            return {.name = "reduce_scatter",
                    .is_sum = true,
                    .is_between_two = false,
                    .has_one_block = false,
                    .reads = BlockUse::all,
                    .writes = BlockUse::own,
                    .in_place = InPlace::output_in_input,
                    .vectors_touched = one_vector_and_parts,
                    .bytes_to_pull = [](const PullSizes& sizes) { return sizes.others * sizes.own; }};
        case CollectiveKind::all_reduce:
            return {.name = "all_reduce",
                    .is_sum = true,
                    .is_between_two = false,
                    .has_one_block = false,
                    .reads = BlockUse::all,
                    .writes = BlockUse::all,
                    .in_place = InPlace::equal,
                    .vectors_touched = [](std::int64_t members,
                                          bool is_in_place) { return members * (is_in_place ? 1 : 2); },
                    .bytes_to_pull = [](const PullSizes& sizes) { return 2 * sizes.others * sizes.own; }};
        case CollectiveKind::all_to_all:
            return {.name = "all_to_all",
                    .is_sum = false,
                    .is_between_two = false,
                    .has_one_block = false,
                    .reads = BlockUse::all,
                    .writes = BlockUse::received,
                    .in_place = InPlace::never,
                    // Assumes that the others' vectors have the same length.
                    .vectors_touched = [](std::int64_t members, bool /*is_in_place*/) { return 2 * members; },
                    .bytes_to_pull = [](const PullSizes& sizes) { return sizes.pulled; }};
        case CollectiveKind::broadcast:
            return {.name = "broadcast",
                    .is_sum = false,
                    .is_between_two = false,
                    .has_one_block = true,
                    .reads = BlockUse::of_peer,
                    .writes = BlockUse::of_others,
                    .in_place = InPlace::any,
                    .vectors_touched = one_vector_and_parts,
                    .bytes_to_pull = [](const PullSizes& sizes) { return sizes.is_peer ? 0 : sizes.own; }};
        case CollectiveKind::send:
            return {.name = "send",
                    .is_sum = false,
                    .is_between_two = true,
                    .has_one_block = true,
                    .reads = BlockUse::all,
                    .writes = BlockUse::none,
                    .in_place = InPlace::any,
                    .vectors_touched = one_vector_and_parts,
                    .bytes_to_pull = [](const PullSizes&) { return std::int64_t{0}; }};
        case CollectiveKind::receive:
            return {.name = "receive",
                    .is_sum = false,
                    .is_between_two = true,
                    .has_one_block = true,
                    .reads = BlockUse::none,
                    .writes = BlockUse::all,
                    .in_place = InPlace::any,
                    .vectors_touched = one_vector_and_parts,
                    .bytes_to_pull = [](const PullSizes& sizes) { return sizes.own; }};
    }
    throw std::invalid_argument{"no CollectiveKind"};
}

constexpr const char* to_string(CollectiveKind kind) {
    return row_of(kind).name;
}

inline constexpr int num_collective_kinds = num_enumerators<CollectiveKind>();

/// Returns the name of a kind, or `unknown` for a number that another process has posted by mistake.
constexpr const char* name_of(CollectiveKind kind) noexcept {
    const int number = static_cast<int>(kind);
    return number >= 0 && number < num_collective_kinds ? row_of(kind).name : "unknown";
}

/// Returns the kind of that name; empty if it does not exist.
constexpr std::optional<CollectiveKind> collective_kind_named(std::string_view name) {
    for (int k = 0; k < num_collective_kinds; ++k) {
        if (name == row_of(static_cast<CollectiveKind>(k)).name) {
            return static_cast<CollectiveKind>(k);
        }
    }
    return std::nullopt;
}

constexpr bool is_sum(CollectiveKind kind) {
    return row_of(kind).is_sum;
}

/// True for messages, which two members exchange without the others of the group.
constexpr bool is_between_two(CollectiveKind kind) {
    return row_of(kind).is_between_two;
}

/// True if a member alone knows the sizes of its blocks, so that it must describe its output by
/// `output_blocks`.
constexpr bool has_output_blocks(CollectiveKind kind) {
    return row_of(kind).writes == BlockUse::received;
}

}  // namespace ziggurat::comm
