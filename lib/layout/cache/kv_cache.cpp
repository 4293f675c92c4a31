#include "layout/cache/kv_cache.hpp"

#include <algorithm>

#include "base/round_up.hpp"
#include "layout/families/attention_window.hpp"
#include "layout/families/family.hpp"
#include "spec/passes_with_cache.hpp"

namespace ziggurat::layout {

std::int64_t cache_pages(std::int64_t positions) {
    return divide_up(positions, std::int64_t{cache_page_positions});
}

CacheSizes cache_sizes(const spec::RunSpec& run, const spec::CachedPasses& passes) {
    const auto each = cache_pages(passes.positions);
    CacheSizes sizes{.sequences = passes.sequences,
                     .pages_per_sequence = each,
                     .pages = passes.pages > 0 ? passes.pages : passes.sequences * each};
    if (num_windowed_layers(run) > 0) {
        // The keys of a pass span its rows and the window before them, and begin anywhere in their first
        // page.
        const auto rows = std::max(passes.prompt_rows, passes.logit_rows);
        const auto of_window = cache_pages(run.model.window + rows) + 1;
        sizes.window_pages = std::min(sizes.pages, passes.sequences * std::min(each, of_window));
    }
    return sizes;
}

std::int64_t kept_logits(std::int64_t rows) {
    return rows <= spec::max_texts_at_once ? rows : 1;
}

std::int64_t cache_page_bytes(const spec::RunSpec& run) {
    return 2 * local_kv_heads(run.model, run.parallel.tensor) * cache_page_positions * run.model.head_dim *
           spec::element_bytes(run.precision.compute);
}

}  // namespace ziggurat::layout
