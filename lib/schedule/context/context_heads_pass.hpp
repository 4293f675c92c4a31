/// Attention over sequences that context ranks share, by an exchange of heads for positions.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Surrounds every attention op by all-to-alls over the context axis.
///
/// Rank r of c context ranks holds positions [r s/c, (r+1) s/c) of each sequence. Attention then runs over
/// all positions of 1/c of the heads, with the kernels of an unsharded sequence.
///
///     forward    queries, keys and values: heads to their ranks, all positions of the own heads back;
///                the output: positions back to their ranks
///     backward   the same for the gradient of the output, then for that of queries, keys and values
///
/// Attention saves what it reads and writes, so backward exchanges gradients only. Ranks share key heads if
/// there are fewer of them than ranks: each computes with a copy, and their gradients are added.
///
/// Does nothing unless the context axis has several ranks and its kind is ulysses. Runs before
/// recompute_pass.
///
/// Source: Jacobs et al., "DeepSpeed Ulysses: System Optimizations for Enabling Training of Extreme Long
///         Sequence Transformer Models", 2023, section 3.
/// Numerics: sums of attention have the order of an unsharded sequence. Gradients of shared key heads are
///           added in float in the order of ranks, and rounded once.
void context_heads_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
