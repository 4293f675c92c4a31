/// Small exchanges outside the step program: verdicts, counts, flags, text.
///
/// All of them wait: published for liveness.hpp, and going on with the background of the context. None is for
/// payload. Words of all ranks of a job on one machine go without MPI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/context.hpp"

namespace ziggurat::comm {

/// True on all ranks if `mine` is true on all ranks. Gate of whatever must be done by all or by none.
///
/// Collective: over `group`
bool all_agree(const Context& group, bool mine);

/// Replaces each word by its sum over the ranks, modulo 2^64: also for the limbs of exact sums.
///
/// Collective: over `group`, the same number of words on all ranks
void all_reduce_sum(const Context& group, std::span<std::int64_t> words);
void all_reduce_sum(const Context& group, std::span<std::uint64_t> words);

/// Replaces each word by its maximum over the ranks.
///
/// Collective: over `group`, the same number of words on all ranks
void all_reduce_max(const Context& group, std::span<std::int64_t> words);
void all_reduce_max(const Context& group, std::span<double> words);

/// Text that rank `root` passes, on all ranks.
///
/// Collective: over `group`
std::string broadcast(const Context& group, const std::string& text, int root = 0);

/// Texts or numbers that the ranks pass, in rank order, on rank 0; empty elsewhere.
///
/// Collective: over `group`; `gather` of numbers: the same number of them on all ranks
std::vector<std::string> gather(const Context& group, const std::string& text);
std::vector<double> gather(const Context& group, std::span<const double> values);

/// The first text in rank order that is not empty, on all ranks; empty when all are.
///
/// Collective: over `group`
std::string first_text(const Context& group, const std::string& text);

/// Returns when all ranks have called it.
///
/// Collective: over `group`
void barrier(const Context& group);

}  // namespace ziggurat::comm
