/// Buffers of a program: bytes that ops read and write, in an arena of one tier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/enumerators.hpp"
#include "base/exact_sum.hpp"
#include "base/small_vector.hpp"
#include "layout/families/role.hpp"
#include "layout/flat_layout.hpp"
#include "layout/state_kinds.hpp"
#include "schedule/ids.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

struct ByteRange {
    std::int64_t offset = 0;  ///< bytes from the start of the buffer
    std::int64_t bytes = 0;

    bool operator==(const ByteRange&) const = default;
};
/// Byte ranges of an operand. Most operands have one range.
using ByteRangeList = SmallVector<ByteRange, 2>;

enum class Lifetime {
    persistent,  ///< holds state from step to step
    transient,   ///< live from the first op that names it to the last; its arena memory is reused
    inputs,      ///< owned by the trainer: filled before the step (batches, StepInputs) or read after it
    in_flight,   ///< as persistent until the pipeline is drained; then other programs use the memory
};

/// Returns the name that is printed and written to JSON. The same holds for consumers and tensors.
constexpr const char* to_string(Lifetime lifetime) {
    switch (lifetime) {
        case Lifetime::persistent:
            return "persistent";
        case Lifetime::transient:
            return "transient";
        case Lifetime::inputs:
            return "inputs";
        case Lifetime::in_flight:
            return "in_flight";
    }
    throw std::invalid_argument{"no Lifetime"};
}

using layout::is_optimizer_state;
using layout::StateKind;

/// Rows of the memory table, in its order.
enum class MemoryCategory {
    none,
    parameters,
    leases,  ///< gathered copies of sharded parameters
    gradients,
    optimizer,
    activations,      ///< saved from forward for backward
    working_buffers,  ///< other values and gradients
    logits,
    workspaces,
    batch,
    snapshot,   ///< state that is being copied to a checkpoint
    transfers,  ///< state that is being moved between tiers
    undo,       ///< state before updates that can be undone, and second slots of state
    stashes,    ///< older versions of parameters (no_flush_pass)
    kv_cache,
    validation,  ///< belongs to no buffer: memory that evaluation needs in addition to training
};

constexpr const char* to_string(MemoryCategory consumer) {
    switch (consumer) {
        case MemoryCategory::none:
            return "";
        case MemoryCategory::parameters:
            return "parameters";
        case MemoryCategory::leases:
            return "leases";
        case MemoryCategory::gradients:
            return "gradients";
        case MemoryCategory::optimizer:
            return "optimizer";
        case MemoryCategory::activations:
            return "activations";
        case MemoryCategory::working_buffers:
            return "working buffers";
        case MemoryCategory::logits:
            return "logits";
        case MemoryCategory::workspaces:
            return "workspaces";
        case MemoryCategory::batch:
            return "batch";
        case MemoryCategory::snapshot:
            return "snapshot";
        case MemoryCategory::transfers:
            return "transfers";
        case MemoryCategory::undo:
            return "undo";
        case MemoryCategory::stashes:
            return "stashes";
        case MemoryCategory::kv_cache:
            return "KV cache";
        case MemoryCategory::validation:
            return "validation";
    }
    throw std::invalid_argument{"no Consumer"};
}

/// Tensors of a micro-batch in host memory.
///
/// The trainer fills them before the passes of the micro-batch, and reads the losses and the results of pairs
/// after them. A program has those that has_tensor() returns.
enum class BatchTensor {
    tokens,
    targets,
    positions,
    document_starts,
    window_starts,
    mask,
    samples,
    losses,
    pairs,              ///< preference objectives: rows of the answers of each pair
    references,         ///< log-probabilities of the reference model for both answers of each pair
    pair_results,       ///< loss and rewards of each pair
    cache_sequences,    ///< KV cache: the sequence of each token; negative: the token is unused
    page_table,         ///< KV cache: pages of each sequence, [sequences, pages of a sequence]
    window_page_table,  ///< the same for layers with a window
};

/// Returns the role in which ops name the tensor.
constexpr layout::Role role_of(BatchTensor tensor) {
    switch (tensor) {
        case BatchTensor::tokens:
            return layout::Role::tokens;
        case BatchTensor::targets:
            return layout::Role::targets;
        case BatchTensor::positions:
            return layout::Role::positions;
        case BatchTensor::document_starts:
            return layout::Role::document_starts;
        case BatchTensor::window_starts:
            return layout::Role::window_starts;
        case BatchTensor::mask:
            return layout::Role::mask;
        case BatchTensor::samples:
            return layout::Role::samples;
        case BatchTensor::losses:
            return layout::Role::losses;
        case BatchTensor::pairs:
            return layout::Role::pairs;
        case BatchTensor::references:
            return layout::Role::references;
        case BatchTensor::pair_results:
            return layout::Role::pair_results;
        case BatchTensor::cache_sequences:
            return layout::Role::cache_sequences;
        case BatchTensor::page_table:
            return layout::Role::page_table;
        case BatchTensor::window_page_table:
            return layout::Role::window_page_table;
    }
    throw std::invalid_argument{"no BatchTensor"};
}

constexpr const char* to_string(BatchTensor tensor) {
    return to_string(role_of(tensor));
}

int element_bytes(BatchTensor tensor);

/// Returns true if the program writes the tensor and the trainer reads it.
constexpr bool is_result(BatchTensor tensor) {
    return tensor == BatchTensor::losses || tensor == BatchTensor::pair_results;
}

inline constexpr int num_batch_tensors = num_enumerators<BatchTensor>();

/// Sizes of the structures that trainer and kernels keep in buffers. `model` checks them.
inline constexpr std::int64_t step_inputs_bytes = 128;  ///< upper bound of kernels::StepInputs
inline constexpr std::int64_t exact_sums_bytes = 1024;  ///< upper bound of ExactSum
inline constexpr std::int64_t exact_sum_slot_bytes = sizeof(ExactSum);  ///< in an array of sums
inline constexpr std::int64_t loss_statistics_bytes = 12;  ///< kernels::LossStatistics of one row
inline constexpr int answer_rows_bytes = 20;               ///< kernels::AnswerRows of one pair
inline constexpr int answer_sums_bytes = 16;               ///< kernels::AnswerSums of one pair
inline constexpr int pair_result_bytes = 12;               ///< kernels::PairResult of one pair
static_assert(sizeof(ExactSum) <= exact_sums_bytes);

struct Buffer {
    std::string name;
    spec::Tier tier = spec::Tier::device;
    std::int64_t bytes = 0;
    Lifetime lifetime = Lifetime::transient;
    StateKind state = StateKind::none;
    MemoryCategory consumer = MemoryCategory::none;  ///< the row of the memory table that counts it
    UnitId unit = -1;
    int microbatch = -1;
    std::int64_t first_element = 0;  ///< persistent shards: index in the unit's flat range of byte 0
    spec::DType type = spec::DType::f32;
    bool is_replicated = false;  ///< an activation that is replicated on all ranks of a tensor axis above 1
    /// Fate of an activation that a rule of recompute.fates names.
    std::optional<spec::ActivationFate> fate = {};
    /// State whose ops run on the host: of an embedding whose lookup does (tiers.operators.embedding).
    bool stays_on_host = false;
    /// Persistent gradients: the buffer of the parameters whose memory they reuse (tiers.reuse).
    BufferId reuses = -1;
    bool is_shared = false;    ///< in an arena that other ranks of the node read; set by place_buffers
    std::int64_t offset = -1;  ///< in its arena; set by place_buffers
    /// Buffer that is the second slot of this one; -1: the buffer has one slot.
    ///
    /// Ops name the first slot. In step s, counted from 0, they read slot s % 2, and write the other slot.
    BufferId second_slot = -1;
    std::int64_t second_offset = -1;  ///< of the second slot, in the same arena; set by place_buffers
};

/// Number of arenas of a rank.
///
/// The first three are private: one for each tier, indexed by spec::Tier. The others hold device and host
/// memory that the other ranks of the node also map, because collectives read or write it.
inline constexpr std::size_t num_arenas = 5;

/// Returns the index of the arena that holds `buffer`.
constexpr std::size_t arena_of(const Buffer& buffer) {
    return static_cast<std::size_t>(buffer.tier) + (buffer.is_shared ? 3 : 0);
}

constexpr spec::Tier tier_of_arena(std::size_t arena) {
    return static_cast<spec::Tier>(arena % 3);
}

/// Returns the offset of a slot of the buffer, 0 or 1; the same for both if the buffer has one slot.
constexpr std::int64_t offset_of_slot(const Buffer& buffer, int slot) {
    return slot == 1 && buffer.second_slot >= 0 ? buffer.second_offset : buffer.offset;
}

/// Returns the slot that ops read in a step; they write the other one.
constexpr int slot_read_in(std::int64_t step) {
    return static_cast<int>(step % 2);
}

int element_bytes(const Buffer& buffer);
/// Returns the elements of the unit's flat range that a buffer of state holds.
layout::ElementRange elements_of(const Buffer& buffer);

}  // namespace ziggurat::schedule
