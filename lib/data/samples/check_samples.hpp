/// Checks of sample files: everything that a file derives from its samples must agree with them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/stop_check.hpp"
#include "data/samples/sample_file.hpp"

namespace ziggurat::data {

/// Returns the reason why two answers are not a pair; empty if they are.
///
/// Both must begin with the same prompt, have the same flags on tokens that they have in common at their
/// beginnings, and have a counted token each. The prompt is at least one token.
///
/// \param chosen, rejected  tokens as a sample file has them
/// \param may_merge         the last token of the prompt may differ: it may include the beginning of an answer
/// Source: TRL, DPOTrainer.tokenize_row (the last token of the prompt)
std::string pair_problem(std::span<const std::uint32_t> chosen,
                         std::span<const std::uint32_t> rejected,
                         bool may_merge);

/// Rejects a wrong seal, a wrong number of flags, and answers that are not pairs.
///
/// The whole file is read once.
///
/// Errors: Error{deck} that begins with `key`, and names the file and the position; Stopped
void check_samples(const SampleFile& file, const std::string& key, const StopCheck& stop = {});

}  // namespace ziggurat::data
