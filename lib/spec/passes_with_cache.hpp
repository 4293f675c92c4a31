/// The passes of a run that use a KV cache.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns the maximum number of tokens of a pass: at most a micro-batch.
std::int64_t max_cached_rows(const RunSpec& run);

/// Maximum number of texts that are generated at the same time.
///
/// Products of so few rows read weights in place (layout::HostWorkspaces::max_rows_in_place).
inline constexpr std::int64_t max_texts_at_once = 8;

/// Returns the passes that generate texts, up to max_texts_at_once of them at the same time.
///
/// The cache holds whole texts, or data.seq tokens of those that are longer: the model then reads a part of
/// them again (train/generate/text_generator.hpp). With several texts, one more sequence holds the prompt
/// that they share.
///
/// \param prompt  tokens of the longest prompt, or an upper bound
/// \param tokens  tokens to generate after each prompt
/// \param texts   number of texts
/// Numerics: the bits of a text do not depend on `prompt` and `texts`
CachedPasses passes_of_texts(const RunSpec& run,
                             std::int64_t prompt,
                             std::int64_t tokens,
                             std::int64_t texts = 1);

/// Returns run.cached; else the passes that generate validate.sample; without samples, none.
CachedPasses cached_passes(const RunSpec& run);

/// True if the run has only passes with a KV cache.
bool has_only_cached_passes(const RunSpec& run);

}  // namespace ziggurat::spec
