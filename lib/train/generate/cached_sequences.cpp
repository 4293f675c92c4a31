#include "train/generate/cached_sequences.hpp"

#include <algorithm>
#include <iterator>

#include "base/contract.hpp"
#include "base/round_up.hpp"
#include "spec/passes_with_cache.hpp"

namespace ziggurat::train {

using schedule::CachedKind;

CachedSequences::CachedSequences(const spec::RunSpec& spec, Assembly& assembly)
    : spec_{spec}, assembly_{assembly}, passes_{spec::cached_passes(spec)}, lengths_(passes_.sequences, -1) {
    const auto sizes = layout::cache_sizes(spec, passes_);
    const auto add = [&](layout::CacheLayers layers, std::int64_t pages) {
        pools_.push_back({layers, {sizes.sequences, sizes.pages_per_sequence, pages}});
    };
    add(layout::CacheLayers::without_window, sizes.pages);
    if (sizes.window_pages > 0) {
        add(layout::CacheLayers::with_window, sizes.window_pages);
    }
    assembly_.train_executor().finish();  // parameters may still be in transfer to other ranks
}

std::int64_t CachedSequences::max_rows(CachedKind kind) const {
    return kind == CachedKind::logits ? passes_.logit_rows : passes_.prompt_rows;
}

std::int64_t CachedSequences::passes_for(CachedKind kind, std::int64_t tokens) const {
    return divide_up(tokens, max_rows(kind));
}

int CachedSequences::open() {
    const auto found = std::ranges::find(lengths_, -1);
    ZG_EXPECTS(found != lengths_.end());
    *found = 0;
    return static_cast<int>(found - lengths_.begin());
}

int CachedSequences::fork(int from, std::int64_t positions) {
    ZG_EXPECTS(positions <= length(from));
    const int made = open();
    lengths_[made] = positions;
    for (auto& pool : pools_) {
        const auto copy = pool.pages.share(from, made, positions);
        if (copy.to >= 0) {
            assembly_.copy_cache_page(pool.layers, copy.from, copy.to);
        }
    }
    return made;
}

bool CachedSequences::can_cut(int sequence, std::int64_t positions) const {
    const auto first_read = positions - spec_.model.window + 1;
    return std::ranges::all_of(pools_, [&](const Pool& pool) {
        return pool.layers == layout::CacheLayers::without_window || positions == 0 ||
               pool.pages.page_of(sequence, std::max<std::int64_t>(0, first_read)) >= 0;
    });
}

void CachedSequences::cut(int sequence, std::int64_t positions) {
    ZG_EXPECTS(positions <= length(sequence) && can_cut(sequence, positions));
    lengths_[sequence] = positions;
    for (auto& pool : pools_) {
        pool.pages.drop_after(sequence, positions);
    }
}

void CachedSequences::close(int sequence) {
    for (auto& pool : pools_) {
        pool.pages.clear(sequence);
    }
    lengths_.at(sequence) = -1;
}

void CachedSequences::run(CachedKind kind, std::span<const NextToken> tokens) {
    auto& program = assembly_.cached(kind);
    const auto& slot = program.slot();
    ZG_EXPECTS(tokens.size() <= slot.tokens.size());
    for (auto& pool : pools_) {
        for (const auto& next : tokens) {  // pages that no token of this pass attends to
            if (pool.layers == layout::CacheLayers::with_window) {
                pool.pages.drop_before(next.sequence, lengths_.at(next.sequence) - spec_.model.window + 1);
            }
        }
    }
    std::ranges::fill(slot.tokens, 0);
    std::ranges::fill(slot.positions, 0);
    std::ranges::fill(slot.cache_sequences, -1);
    std::ranges::fill(slot.targets, 0);
    std::ranges::fill(slot.mask, std::uint8_t{0});
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const auto& next = tokens[i];
        const auto position = lengths_.at(next.sequence)++;
        ZG_EXPECTS(position >= 0 && position < passes_.positions);
        slot.tokens[i] = next.token;
        slot.positions[i] = static_cast<std::int32_t>(position);
        slot.cache_sequences[i] = next.sequence;
        if (next.target >= 0 && kind == CachedKind::logits) {
            slot.targets[i] = next.target;
            slot.mask[i] = 1;
        }
        for (auto& pool : pools_) {
            pool.pages.extend(next.sequence, position, position + 1);
        }
    }
    for (const auto& pool : pools_) {
        const bool has_window = pool.layers == layout::CacheLayers::with_window;
        std::ranges::copy(pool.pages.table(),
                          (has_window ? slot.window_page_table : slot.page_table).begin());
        if (spec_.tiers.kv_cache != spec::Tier::device) {
            set_moved_pages(pool, slot.cache_sequences.first(tokens.size()), slot.positions);
        }
    }
    program.executor->run_step();
    program.executor->finish();  // the other program uses the same memory
}

void CachedSequences::set_moved_pages(const Pool& pool,
                                      std::span<const std::int32_t> sequences,
                                      std::span<const std::int32_t> positions) {
    std::vector<std::int32_t> in_use, changed;
    std::ranges::copy_if(pool.pages.table(), std::back_inserter(in_use),
                         [](std::int32_t page) { return page >= 0; });
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        changed.push_back(pool.pages.page_of(sequences[i], positions[i]));
    }
    assembly_.cache_pages().set(pool.layers, in_use, changed);
}

void CachedSequences::read_prompts(std::span<const NextToken> tokens, std::int64_t num_passes) {
    const auto rows = static_cast<std::size_t>(max_rows(CachedKind::prompt));
    for (std::int64_t pass = 0; pass < num_passes; ++pass) {
        run(CachedKind::prompt, tokens.first(std::min(rows, tokens.size())));
        tokens = tokens.subspan(std::min(rows, tokens.size()));
    }
    ZG_ENSURES(tokens.empty());
}

std::vector<float> CachedSequences::losses(std::span<const NextToken> tokens, std::int64_t num_passes) {
    std::vector<float> all;
    const auto rows = static_cast<std::size_t>(max_rows(CachedKind::logits));
    for (std::int64_t pass = 0; pass < num_passes; ++pass) {
        const auto now = tokens.first(std::min(rows, tokens.size()));
        run(CachedKind::logits, now);
        const auto found = assembly_.cached(CachedKind::logits).slot().losses.first(now.size());
        all.insert(all.end(), found.begin(), found.end());
        tokens = tokens.subspan(now.size());
    }
    ZG_ENSURES(tokens.empty());
    return all;
}

std::span<const float> CachedSequences::logits(std::span<const NextToken> tokens) {
    ZG_EXPECTS(std::ssize(tokens) <= layout::kept_logits(passes_.logit_rows));
    auto& program = assembly_.cached(CachedKind::logits);
    program.watch.set_rows(0, std::ssize(tokens));
    run(CachedKind::logits, tokens);
    return program.watch.logits(assembly_.world());
}

}  // namespace ziggurat::train
