/// Bytes of activations that a decoder layer saves for backward: in closed form, and counted from a
/// program.
#pragma once

#include <cstdint>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Bytes that one rank saves of one layer for one micro-batch.
struct SavedActivations {
    /// Bytes replicated over the tensor axis, before recompute.split: outputs of norms, residual sums and
    /// statistics, without parallel.sequence.
    std::int64_t identical = 0;
    /// Bytes of slices of widths or of tokens.
    std::int64_t sliced = 0;
    /// Bytes of the layer's input, which is the output of the previous unit; not included above.
    std::int64_t input = 0;
    /// Replicated bytes that recompute.split leaves whole: too few elements for one part per rank.
    std::int64_t short_of_parts = 0;

    bool operator==(const SavedActivations&) const = default;
};

/// True if replicated `elements` suffice for one part on each tensor rank.
///
/// recompute.split leaves other values whole.
bool has_part_on_each(std::int64_t elements, int tensor_ranks);

/// Returns the saved bytes of a decoder layer; with frozen tensors, the bytes that its backward still
/// reads.
///
/// With all tensors trained, T tokens in a micro-batch, width h, t tensor ranks and c bytes per number, GPT-2
/// with a heads saves per layer (statistics and lse are fp32):
///
///     none                          T (4ch + 16 + (12ch + 4a)/t)
///     selective                     T (2ch + 7ch/t)
///     full                          T ch
///
/// One ch of these is the layer's input. With parallel.sequence or recompute.split, the first terms are also
/// divided by t. Dropout saves nothing, because its masks are recomputed.
///
/// \pre `unit` is a decoder layer
SavedActivations kept_by_formula(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit);

/// Returns all bytes that the rank saves; with recompute.split, only its part of replicated values.
std::int64_t kept_bytes(const SavedActivations& kept, const spec::RunSpec& spec);

/// Counts, in a program, the bytes of saved activations of `unit` at the first loss of micro-batch 0.
///
/// These are activations that have been written and are still to be read. The unit's output (the next unit's
/// input) is included.
std::int64_t kept_counted(const Program& program, UnitId unit);

}  // namespace ziggurat::schedule
