/// Bytes of activations that a decoder layer keeps for backward: by formula, and counted from a program.
#pragma once

#include <cstdint>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// What one rank keeps of one layer for one micro-batch.
struct KeptActivations {
    /// What every rank of the tensor axis has alike, before recompute.split: outputs of norms, residual sums
    /// and statistics, without parallel.sequence.
    std::int64_t alike = 0;
    /// Slices of widths or of tokens.
    std::int64_t sliced = 0;
    /// The layer's input, which is the output of the unit before; among neither of these.
    std::int64_t input = 0;
    /// Of what is alike, values that recompute.split leaves whole: too short for a part on each rank.
    std::int64_t short_of_parts = 0;

    bool operator==(const KeptActivations&) const = default;
};

/// Whether `elements` that are alike suffice for a part on each of the tensor ranks: recompute.split leaves
/// what does not whole.
bool has_part_on_each(std::int64_t elements, int tensor_ranks);

/// Of a decoder layer; where tensors are frozen, of what its backward still reads. All trained, with T tokens
/// in a micro-batch of width h, t tensor ranks and c bytes in a number, GPT-2 with a heads keeps per layer
/// (statistics are fp32, lse too)
///
///     none                          T (4ch + 16 + (12ch + 4a)/t)
///     selective                     T (2ch + 7ch/t)
///     full                          T ch
///
/// one ch of these being the layer's input, and with parallel.sequence or recompute.split the first terms are
/// over t, too. Nothing is kept of dropout, whose masks are made again.
///
/// \pre `unit` is a decoder layer
KeptActivations kept_by_formula(const spec::RunSpec& spec, const ModelLayout& model, int unit);

/// All of it, as the rank keeps it: parts of what is alike with recompute.split.
std::int64_t kept_bytes(const KeptActivations& kept, const spec::RunSpec& spec);

/// Counted from a program: bytes of the activations of `unit` that are there, made and yet to be read, when
/// the first loss of its micro-batch 0 is computed. The unit's output, the next one's input, is among them.
std::int64_t kept_counted(const Program& program, int unit);

}  // namespace ziggurat::schedule
