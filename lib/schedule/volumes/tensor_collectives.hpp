/// Collectives over the tensor axis between the phases of one unit, in closed form.
#pragma once

#include <map>

#include "schedule/model_layout.hpp"
#include "schedule/volumes/recompute_inputs.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Numbers of collectives over the tensor axis, each of one value of the model's width for a
/// micro-batch.
struct TokenCollectives {
    int sums = 0;      ///< all-reduces
    int gathers = 0;   ///< with parallel.sequence
    int scatters = 0;  ///< with parallel.sequence: reduce-scatters
    /// All-reduces of two floats per token instead: of the squares of its queries and of its keys.
    int square_sums = 0;

    TokenCollectives operator+(const TokenCollectives& other) const {
        return {sums + other.sums, gathers + other.gathers, scatters + other.scatters,
                square_sums + other.square_sums};
    }
    bool operator==(const TokenCollectives&) const = default;
};

/// Collectives of one unit and micro-batch.
struct UnitCollectives {
    TokenCollectives forward;
    TokenCollectives backward;
    TokenCollectives recomputed;

    TokenCollectives all() const { return forward + backward + recomputed; }
};

/// Returns the collectives of one unit and micro-batch.
///
/// A layer has G products with sharded columns and S sums. (GPT-2 and Llama: 2 and 2; GPT-NeoX, whose
/// branches are summed first: 2 and 1.) With all tensors trained and without parallel.sequence, it needs
///
///     forward            S sums
///     backward           G sums
///     recomputation      with recompute.kind full: S - 1 sums, and one more if another layer of the same
///                        range of recompute.every follows; S sums, if a norm reads the last branch
///
/// and with parallel.sequence
///
///     forward            G gathers, S scatters
///     backward           S gathers of gradients, G gathers of inputs again, G scatters
///     recomputation      with recompute.kind full: G gathers, and one scatter for each sum above
///
/// A norm of all queries and keys of a token (QK-norm of OLMo 2) needs a sum of their squares in forward, one
/// of its gradient in backward, and one more where it is recomputed.
///
/// The embedding needs a sum in forward, or a scatter, and a gather in backward. The head needs a sum in
/// backward, or a gather and a scatter.
///
/// With frozen tensors, there are no collectives in backward below the first trained tensor, and none for
/// gradients of inputs that no op needs. Inputs are gathered again only for trained weights, and only values
/// that the remaining backward reads are recomputed.
///
/// Source: Shoeybi et al., "Megatron-LM", 2019, section 3; Korthikanti et al., "Reducing Activation
/// Recomputation in Large Transformer Models", 2022, section 4.2.
UnitCollectives unit_collectives(const ModelLayout& model,
                                 UnitId unit,
                                 const std::map<UnitId, RecomputeInputs>& needed);

/// Returns the sum of unit_collectives over forward, backward and recomputation.
TokenCollectives token_collectives(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit);

}  // namespace ziggurat::schedule
