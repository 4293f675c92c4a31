#include "spec/passes_with_cache.hpp"

#include <algorithm>
#include <iterator>

namespace ziggurat::spec {

std::int64_t max_cached_rows(const RunSpec& run) {
    return std::min<std::int64_t>(512, run.train.micro_batch * run.data.seq);
}

CachedPasses passes_of_one_text(const RunSpec& run, std::int64_t prompt) {
    const auto most = std::min(max_cached_rows(run), run.data.seq);
    return {.sequences = 1,
            .positions = run.data.seq,
            .prompt_rows = std::clamp<std::int64_t>(prompt, 1, most),
            .logit_rows = 1};
}

CachedPasses cached_passes(const RunSpec& run) {
    if (has_only_cached_passes(run)) {
        return run.cached;
    }
    if (!run.validate.sample) {
        return {};
    }
    // A token has at least one byte; a tokenizer may add one at the beginning.
    return passes_of_one_text(run, std::ssize(run.validate.sample->prompt) + 1);
}

bool has_only_cached_passes(const RunSpec& run) {
    return run.cached.sequences > 0;
}

}  // namespace ziggurat::spec
