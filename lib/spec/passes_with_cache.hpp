/// The passes of a run that use a KV cache.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns the maximum number of tokens of a pass: at most a micro-batch.
std::int64_t max_cached_rows(const RunSpec& run);

/// Returns the passes that generate one text.
///
/// The cache holds the whole text, or data.seq tokens if it is longer: the model then reads a part of it
/// again (train/generate/text_generator.hpp).
///
/// \param prompt  tokens of its prompt, or an upper bound
/// \param tokens  tokens to generate
CachedPasses passes_of_one_text(const RunSpec& run, std::int64_t prompt, std::int64_t tokens);

/// Returns run.cached; else the passes that generate validate.sample; without samples, none.
CachedPasses cached_passes(const RunSpec& run);

/// True if the run has only passes with a KV cache.
bool has_only_cached_passes(const RunSpec& run);

}  // namespace ziggurat::spec
