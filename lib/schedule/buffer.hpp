/// Buffers of a program: bytes that ops read and write, in an arena of one tier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/enumerators.hpp"
#include "base/exact_sum.hpp"
#include "base/small_vector.hpp"
#include "layout/flat_layout.hpp"
#include "layout/role.hpp"
#include "layout/state_kinds.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

struct ByteRun {
    std::int64_t offset = 0;  ///< bytes from the start of the buffer
    std::int64_t bytes = 0;

    bool operator==(const ByteRun&) const = default;
};
/// Of an operand, which has one, or few.
using ByteRunList = SmallVector<ByteRun, 2>;

enum class Lifetime {
    persistent,  ///< holds state from step to step
    transient,   ///< from the first op that names it to the last; its place in the arena is used again
    inputs,      ///< of the trainer: filled before the step, as batches and StepInputs, or read behind it
};

/// Name as printed and written to JSON; so are those of consumers and tensors.
constexpr const char* to_string(Lifetime lifetime) {
    switch (lifetime) {
        case Lifetime::persistent:
            return "persistent";
        case Lifetime::transient:
            return "transient";
        case Lifetime::inputs:
            return "inputs";
    }
    throw std::invalid_argument{"no Lifetime"};
}

using layout::is_optimizer_state;
using layout::StateKind;

/// Lines of the memory table, in its order.
enum class Consumer {
    none,
    parameters,
    leases,  ///< of parameters that are sharded
    gradients,
    optimizer,
    activations,      ///< kept from forward to backward
    working_buffers,  ///< values and gradients in between
    logits,
    workspaces,
    batch,
    snapshot,    ///< of state on its way to a checkpoint
    transfers,   ///< of state on its way between tiers
    validation,  ///< of no buffer: what evaluation needs beyond training
};

constexpr const char* to_string(Consumer consumer) {
    switch (consumer) {
        case Consumer::none:
            return "";
        case Consumer::parameters:
            return "parameters";
        case Consumer::leases:
            return "leases";
        case Consumer::gradients:
            return "gradients";
        case Consumer::optimizer:
            return "optimizer";
        case Consumer::activations:
            return "activations";
        case Consumer::working_buffers:
            return "working buffers";
        case Consumer::logits:
            return "logits";
        case Consumer::workspaces:
            return "workspaces";
        case Consumer::batch:
            return "batch";
        case Consumer::snapshot:
            return "snapshot";
        case Consumer::transfers:
            return "transfers";
        case Consumer::validation:
            return "validation";
    }
    throw std::invalid_argument{"no Consumer"};
}

/// Tensors of a micro-batch, on the host: the trainer fills them before its passes, and reads the losses
/// after them.
enum class BatchTensor { tokens, targets, positions, document_starts, mask, samples, losses };

/// Role in which ops name the tensor.
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
        case BatchTensor::mask:
            return layout::Role::mask;
        case BatchTensor::samples:
            return layout::Role::samples;
        case BatchTensor::losses:
            return layout::Role::losses;
    }
    throw std::invalid_argument{"no BatchTensor"};
}

constexpr const char* to_string(BatchTensor tensor) {
    return to_string(role_of(tensor));
}

int element_bytes(BatchTensor tensor);

inline constexpr int num_batch_tensors = num_enumerators<BatchTensor>();

/// Bytes of what trainer and kernels keep in buffers; `model` holds them to the types.
inline constexpr std::int64_t step_inputs_bytes = 128;     ///< kernels::StepInputs has room in them
inline constexpr std::int64_t exact_sums_bytes = 1024;     ///< an ExactSum has
inline constexpr std::int64_t loss_statistics_bytes = 12;  ///< kernels::LossStatistics of one row
static_assert(sizeof(ExactSum) <= exact_sums_bytes);

struct Buffer {
    std::string name;
    spec::Tier tier = spec::Tier::device;
    std::int64_t bytes = 0;
    Lifetime lifetime = Lifetime::transient;
    StateKind state = StateKind::none;
    Consumer consumer = Consumer::none;  ///< the line of the memory table that it counts to
    int unit = -1;
    int microbatch = -1;
    std::int64_t first_element = 0;  ///< persistent shards: where in the unit's flat range byte 0 lies
    spec::DType type = spec::DType::f32;
    bool is_alike = false;     ///< an activation that all ranks of a tensor axis above 1 have alike
    bool is_shared = false;    ///< in an arena that ranks of the node read; set by place_buffers
    std::int64_t offset = -1;  ///< in its arena; set by place_buffers
};

/// The arenas of a rank: one of each tier, indexed by spec::Tier, that it alone maps, then those of device
/// and host memory that the other ranks of its node map as well, for what collectives touch.
inline constexpr std::size_t num_arenas = 5;

/// Index of the arena that `buffer` lies in.
constexpr std::size_t arena_of(const Buffer& buffer) {
    return static_cast<std::size_t>(buffer.tier) + (buffer.is_shared ? 3 : 0);
}

constexpr spec::Tier tier_of_arena(std::size_t arena) {
    return static_cast<spec::Tier>(arena % 3);
}

int element_bytes(const Buffer& buffer);
/// The elements of the unit's flat range that a buffer of state holds.
layout::ElementRange elements_of(const Buffer& buffer);

}  // namespace ziggurat::schedule
