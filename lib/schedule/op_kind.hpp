/// OpKind, the kinds of ops, as one table, and the other properties of ops: directions and purposes.
///
/// `row_of` holds the differences between collectives; the code that plans, checks and counts ops reads them
/// there. A new collective is an enumerator and a row here, and a kind of the same name in
/// comm/collective_kinds.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "base/enum_array.hpp"
#include "base/enumerators.hpp"

namespace ziggurat::schedule {

enum class OpKind {
    compute,  ///< a phase in some direction
    loss,     ///< cross-entropy over a block of rows
    fill,     ///< zeroes its writes
    add,      ///< writes[0] += reads[0] (fp32), or = without `accumulate`; rounded to the type of writes[0]
    update,   ///< the optimizer on one chunk's runs
    norm,     ///< adds squares of gradients to the step's exact sum
    /// Global norm, clip factor and skip flag from the exact sums. Runs on the host and contains an
    /// all_reduce of integers.
    step_end,
    /// Norm of one unit's gradient and its clip factor, from the exact sums of the unit's ranks.
    ///
    /// Runs on the host and contains an all_reduce of integers.
    unit_clip,
    all_gather,
    reduce_scatter,
    all_reduce,
    all_to_all,  ///< block m of the reads goes to member m; block m of the writes is from member m
    send,
    receive,
    copy,   ///< between tiers
    read,   ///< from NVMe
    write,  ///< to NVMe
};

/// Classes of ops. All collectives are one class.
///
/// A switch over classes does not change if a collective is added.
enum class OpClass { compute, loss, fill, add, update, norm, step_end, collective, copy, read, write };

/// Blocks of an operand that one member of a collective has.
enum class MemberBlocks {
    none,  ///< the collective has no such operand on the member
    own,   ///< the member's own block only
    all
};

/// Columns of the table for collectives.
///
/// Members have no defaults, so a new row or column without a value does not compile.
struct CollectiveRow {
    bool is_message;      ///< between two ranks, with one operand; others have Op::blocks
    bool is_sum;          ///< results are sums over members
    MemberBlocks reads;   ///< of the vector that is read
    MemberBlocks writes;  ///< of the vector that is written
    /// Bytes that a rank sends, counted as in a ring, of a vector or message of `bytes` in a group.
    std::int64_t (*bytes_sent)(std::int64_t bytes, std::int64_t members);
};

struct OpKindRow {
    const char* name;  ///< printed, traced and written to JSON
    OpClass op_class;
    std::optional<CollectiveRow> collective = std::nullopt;
};

/// Returns b(1 - 1/n), exact if n divides b.
constexpr std::int64_t without_own_part(std::int64_t amount, std::int64_t parts) {
    return amount - amount / parts;
}

/// Returns the row of a kind.
constexpr OpKindRow row_of(OpKind kind) {
    using Blocks = MemberBlocks;
    switch (kind) {
        case OpKind::compute:
            return {"compute", OpClass::compute};
        case OpKind::loss:
            return {"loss", OpClass::loss};
        case OpKind::fill:
            return {"fill", OpClass::fill};
        case OpKind::add:
            return {"add", OpClass::add};
        case OpKind::update:
            return {"update", OpClass::update};
        case OpKind::norm:
            return {"norm", OpClass::norm};
        case OpKind::step_end:
            return {"step_end", OpClass::step_end};
        case OpKind::unit_clip:
            return {"unit_clip", OpClass::step_end};
        case OpKind::all_gather:
            return {"all_gather", OpClass::collective,
                    CollectiveRow{.is_message = false,
                                  .is_sum = false,
                                  .reads = Blocks::own,
                                  .writes = Blocks::all,
                                  .bytes_sent = without_own_part}};
        case OpKind::reduce_scatter:
            return {"reduce_scatter", OpClass::collective,
                    CollectiveRow{.is_message = false,
                                  .is_sum = true,
                                  .reads = Blocks::all,
                                  .writes = Blocks::own,
                                  .bytes_sent = without_own_part}};
        case OpKind::all_reduce:
            return {"all_reduce", OpClass::collective,
                    CollectiveRow{.is_message = false,
                                  .is_sum = true,
                                  .reads = Blocks::all,
                                  .writes = Blocks::all,
                                  .bytes_sent = [](std::int64_t bytes, std::int64_t members) {
                                      return 2 * without_own_part(bytes, members);
                                  }}};
        case OpKind::all_to_all:
            return {"all_to_all", OpClass::collective,
                    CollectiveRow{.is_message = false,
                                  .is_sum = false,
                                  .reads = Blocks::all,
                                  .writes = Blocks::all,
                                  .bytes_sent = without_own_part}};
        case OpKind::send:
            return {"send", OpClass::collective,
                    CollectiveRow{.is_message = true,
                                  .is_sum = false,
                                  .reads = Blocks::all,
                                  .writes = Blocks::none,
                                  .bytes_sent = [](std::int64_t bytes, std::int64_t) { return bytes; }}};
        case OpKind::receive:
            return {"receive", OpClass::collective,
                    CollectiveRow{.is_message = true,
                                  .is_sum = false,
                                  .reads = Blocks::none,
                                  .writes = Blocks::all,
                                  .bytes_sent = [](std::int64_t, std::int64_t) { return std::int64_t{0}; }}};
        case OpKind::copy:
            return {"copy", OpClass::copy};
        case OpKind::read:
            return {"read", OpClass::read};
        case OpKind::write:
            return {"write", OpClass::write};
    }
    throw std::invalid_argument{"no OpKind"};
}

/// Returns the name that is printed, traced and written to JSON; also for the enumerations below.
constexpr const char* to_string(OpKind kind) {
    return row_of(kind).name;
}

constexpr OpClass class_of(OpKind kind) {
    return row_of(kind).op_class;
}

/// True if all ranks of a group run the op together, or two of them for a message.
constexpr bool is_collective(OpKind kind) {
    return row_of(kind).collective.has_value();
}

constexpr bool is_message(OpKind kind) {
    const auto row = row_of(kind);
    return row.collective && row.collective->is_message;
}

constexpr bool is_sum(OpKind kind) {
    const auto row = row_of(kind);
    return row.collective && row.collective->is_sum;
}

/// True if an op of this kind reads only its rank's block of the vector.
constexpr bool reads_own_block(OpKind kind) {
    const auto row = row_of(kind);
    return row.collective && row.collective->reads == MemberBlocks::own;
}

/// True if an op of this kind writes only its rank's block of the vector.
constexpr bool writes_own_block(OpKind kind) {
    const auto row = row_of(kind);
    return row.collective && row.collective->writes == MemberBlocks::own;
}

enum class Direction { none, forward, backward, backward_input, backward_weight, recompute };

constexpr const char* to_string(Direction direction) {
    switch (direction) {
        case Direction::none:
            return "";
        case Direction::forward:
            return "forward";
        case Direction::backward:
            return "backward";
        case Direction::backward_input:
            return "backward_input";
        case Direction::backward_weight:
            return "backward_weight";
        case Direction::recompute:
            return "recompute";
    }
    throw std::invalid_argument{"no Direction"};
}

/// Reason of a transfer; names transferred volumes in the accounting report.
enum class Purpose {
    none,
    parameters,   ///< leases of sharded parameters
    secondary,    ///< leases from hpZ's second copy
    gradients,    ///< reduction
    publication,  ///< updated parameters to their other holders
    tensor,       ///< between phases, over the tensor axis
    context,
    pipeline,
    control,     ///< batches, losses, norms, counts, flags
    checkpoint,  ///< between tiers: the copy for a background save; moves no bytes while no save runs
    state,       ///< between tiers: fetches and evictions
    stash,       ///< copies of parameters for micro-batches in flight (no_flush_pass)
};

constexpr const char* to_string(Purpose purpose) {
    switch (purpose) {
        case Purpose::none:
            return "none";
        case Purpose::parameters:
            return "parameters";
        case Purpose::secondary:
            return "secondary";
        case Purpose::gradients:
            return "gradients";
        case Purpose::publication:
            return "publication";
        case Purpose::tensor:
            return "tensor";
        case Purpose::context:
            return "context";
        case Purpose::pipeline:
            return "pipeline";
        case Purpose::control:
            return "control";
        case Purpose::checkpoint:
            return "checkpoint";
        case Purpose::state:
            return "state";
        case Purpose::stash:
            return "stash";
    }
    throw std::invalid_argument{"no Purpose"};
}

inline constexpr int num_purposes = num_enumerators<Purpose>();
/// Bytes by Purpose.
using BytesByPurpose = EnumArray<Purpose, std::int64_t>;

}  // namespace ziggurat::schedule
