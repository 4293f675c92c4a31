#include "spec/passes_with_cache.hpp"

#include <algorithm>
#include <iterator>

namespace ziggurat::spec {

std::int64_t max_cached_rows(const RunSpec& run) {
    return std::min<std::int64_t>(512, run.train.micro_batch * run.data.seq);
}

CachedPasses passes_of_one_text(const RunSpec& run, std::int64_t prompt, std::int64_t tokens) {
    const auto positions = std::min(run.data.seq, prompt + tokens);
    const bool is_read_again = prompt + tokens > positions;
    const auto longest_read = is_read_again ? positions : std::max<std::int64_t>(1, prompt);
    return {.sequences = 1,
            .positions = positions,
            .prompt_rows = std::min(longest_read, max_cached_rows(run)),
            .logit_rows = 1};
}

CachedPasses cached_passes(const RunSpec& run) {
    if (has_only_cached_passes(run)) {
        return run.cached;
    }
    if (!run.validate.sample) {
        return {};
    }
    // A token has at least one byte. A tokenizer may add a token and a space at the beginning.
    const auto& sample = *run.validate.sample;
    return passes_of_one_text(run, std::ssize(sample.prompt) + 2, sample.tokens);
}

bool has_only_cached_passes(const RunSpec& run) {
    return run.cached.sequences > 0;
}

}  // namespace ziggurat::spec
