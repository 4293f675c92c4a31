/// Small collectives outside the step program: verdicts, counts, flags, text.
///
/// All of them wait, publish that wait for liveness.hpp, and continue the background work of the context.
/// They are not for tensors. On one node, exchanges of words among all ranks of a job do not use MPI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/context.hpp"

namespace ziggurat::comm {

/// Returns true on all ranks if `mine` is true on all ranks.
///
/// For actions that all ranks or none must do.
///
/// Collective: over `group`
bool all_agree(const Context& group, bool mine);

/// Replaces each word by its sum over the ranks, modulo 2^64; also for limbs of exact sums.
///
/// Collective: over `group`, the same number of words on all ranks
void all_reduce_sum(const Context& group, std::span<std::int64_t> words);
void all_reduce_sum(const Context& group, std::span<std::uint64_t> words);

/// Replaces each word by its maximum over the ranks.
///
/// Collective: over `group`, the same number of words on all ranks
void all_reduce_max(const Context& group, std::span<std::int64_t> words);
void all_reduce_max(const Context& group, std::span<double> words);

/// Returns the text of rank `root` on all ranks.
///
/// Collective: over `group`
std::string broadcast(const Context& group, const std::string& text, int root = 0);

/// Gathers texts or numbers of the ranks on rank 0, in rank order; returns an empty list on the others.
///
/// Collective: over `group`; `gather` of numbers: the same number of them on all ranks
std::vector<std::string> gather(const Context& group, const std::string& text);
std::vector<double> gather(const Context& group, std::span<const double> values);

/// Returns the first text in rank order that is not empty, on all ranks; empty if all are.
///
/// Collective: over `group`
std::string first_text(const Context& group, const std::string& text);

/// Returns when all ranks have called it.
///
/// Collective: over `group`
void barrier(const Context& group);

}  // namespace ziggurat::comm
