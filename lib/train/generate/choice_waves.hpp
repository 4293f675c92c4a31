/// Division of rows of multiple-choice tasks among passes with a KV cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/choice/choice_rows.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// Consecutive rows that begin with the same tokens: usually the endings of one task.
struct ChoiceGroup {
    std::int64_t first_row = 0, rows = 0;
    std::int64_t shared = 0;  ///< tokens at the beginning of each row, read once; less than any context
};

/// Groups whose sequences are in the cache at the same time.
struct ChoiceWave {
    std::int64_t first_group = 0, groups = 0;
    std::int64_t prompt_tokens = 0;  ///< read without logits: what the rows of a group share
    std::int64_t logit_tokens = 0;   ///< read with logits: the rest of each row
    std::int64_t pages = 0;          ///< of the cache
    std::int64_t sequences = 0;
};

/// The same on all ranks.
struct ChoiceWaves {
    std::int64_t shared_by_all = 0;  ///< tokens at the beginning of all rows, read once; 0: too few
    std::vector<ChoiceGroup> groups;
    std::vector<ChoiceWave> waves;
    std::vector<std::int64_t> first_token;  ///< by row, in ChoiceRows::tokens
};

/// Divides the rows among waves, each with up to `max_rows` tokens with logits, and not too many pages.
///
/// A wave that exceeds these numbers has one group.
ChoiceWaves choice_waves(const data::ChoiceRows& rows, std::int64_t max_rows);

/// Returns the passes that compute the scores of `rows`: their cache holds the largest wave.
spec::CachedPasses passes_of_choices(const data::ChoiceRows& rows, const spec::RunSpec& run);

}  // namespace ziggurat::train
