/// Collectives over the tensor axis between the phases of one unit, by formula.
#pragma once

#include <map>

#include "schedule/model_layout.hpp"
#include "schedule/volumes/needed_again.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Collectives of one value of the model's width, for all tokens of a micro-batch, over the tensor axis.
struct TokenCollectives {
    int sums = 0;      ///< all-reduces
    int gathers = 0;   ///< with parallel.sequence
    int scatters = 0;  ///< with parallel.sequence: reduce-scatters

    TokenCollectives operator+(const TokenCollectives& other) const {
        return {sums + other.sums, gathers + other.gathers, scatters + other.scatters};
    }
    bool operator==(const TokenCollectives&) const = default;
};

/// Of one unit and micro-batch.
struct UnitCollectives {
    TokenCollectives forward;
    TokenCollectives backward;
    TokenCollectives recomputed;

    TokenCollectives all() const { return forward + backward + recomputed; }
};

/// A layer of G products whose columns are cut and S sums (GPT-2 and Llama: 2 and 2; GPT-NeoX, whose branches
/// are summed first: 2 and 1), all trained, takes without parallel.sequence
///
///     forward            S sums
///     backward           G sums
///     computed again     with recompute.kind full: S - 1 sums, and one more where another layer of the same
///                        run of recompute.every follows
///
/// and with it
///
///     forward            G gathers, S scatters
///     backward           S gathers of gradients and G of inputs once more, G scatters
///     computed again     with recompute.kind full: G gathers and as many scatters as sums above
///
/// The embedding takes a sum forward, or a scatter and a gather backward; the head a sum backward, or a
/// gather and a scatter.
///
/// Where tensors are frozen: none backward below the first trained tensor; no gradient of an input of which
/// nobody asks for it; inputs once more only for weights that are trained; and computed again is only what
/// the backward that is left reads.
///
/// Source: Shoeybi et al., "Megatron-LM", 2019, section 3; Korthikanti et al., "Reducing Activation
/// Recomputation in Large Transformer Models", 2022, section 4.2.
UnitCollectives unit_collectives(const ModelLayout& model,
                                 int unit,
                                 const std::map<int, NeededAgain>& needed);

/// unit_collectives in all.
TokenCollectives token_collectives(const spec::RunSpec& spec, const ModelLayout& model, int unit);

}  // namespace ziggurat::schedule
