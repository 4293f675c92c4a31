#include "spec/passes_with_cache.hpp"

#include <algorithm>
#include <iterator>

namespace ziggurat::spec {

std::int64_t max_cached_rows(const RunSpec& run) {
    return std::min<std::int64_t>(512, run.train.micro_batch * run.data.seq);
}

CachedPasses passes_of_texts(const RunSpec& run,
                             std::int64_t prompt,
                             std::int64_t tokens,
                             std::int64_t texts) {
    const auto positions = std::min(run.data.seq, prompt + tokens);
    const bool is_read_again = prompt + tokens > positions;
    const auto longest_read = is_read_again ? positions : prompt;
    const auto at_once = std::clamp<std::int64_t>(texts, 1, max_texts_at_once);
    // On a GPU the bits of a product depend on its number of rows. On the host they depend only on whether it
    // reads the weight in place.
    const bool has_fixed_rows = run.tiers.device == DeviceKind::cuda;
    const auto prompt_rows = std::max(longest_read, max_texts_at_once + 1);
    return {
        .sequences = texts > 1 ? at_once + 1 : 1,
        .positions = positions,
        .prompt_rows = has_fixed_rows ? max_cached_rows(run) : std::min(prompt_rows, max_cached_rows(run)),
        .logit_rows = has_fixed_rows ? max_texts_at_once : at_once};
}

CachedPasses cached_passes(const RunSpec& run) {
    if (has_only_cached_passes(run)) {
        return run.cached;
    }
    if (!run.validate.sample) {
        return {};
    }
    // A token has at least one byte. A tokenizer may add a token and a space at the beginning. A template may
    // add a text of any length.
    const auto& sample = *run.validate.sample;
    const auto prompt = sample.is_chat ? run.data.seq : std::ssize(sample.prompt) + 2;
    return passes_of_texts(run, prompt, sample.tokens);
}

bool has_only_cached_passes(const RunSpec& run) {
    return run.cached.sequences > 0;
}

}  // namespace ziggurat::spec
