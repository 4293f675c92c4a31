/// The passes of a run that use a KV cache.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns the maximum number of tokens of a pass: at most a micro-batch.
std::int64_t max_cached_rows(const RunSpec& run);

/// Returns the passes that generate one text of up to data.seq tokens.
///
/// \param prompt  tokens of its prompt, or an upper bound: the maximum number of tokens of a pass
CachedPasses passes_of_one_text(const RunSpec& run, std::int64_t prompt);

/// Returns run.cached; else the passes that generate validate.sample; without samples, none.
CachedPasses cached_passes(const RunSpec& run);

/// True if the run has only passes with a KV cache.
bool has_only_cached_passes(const RunSpec& run);

}  // namespace ziggurat::spec
