#include "train/generate/cached_sequences.hpp"

#include <algorithm>
#include <iterator>

#include "base/contract.hpp"
#include "base/round_up.hpp"
#include "spec/passes_with_cache.hpp"

namespace ziggurat::train {

using schedule::CachedKind;

namespace {

PagePool pool_of(const layout::CacheSizes& sizes, std::int64_t pages) {
    return {sizes.sequences, sizes.pages_per_sequence, pages};
}

}  // namespace

CachedSequences::CachedSequences(const spec::RunSpec& spec, Assembly& assembly)
    : spec_{spec},
      assembly_{assembly},
      passes_{spec::cached_passes(spec)},
      pages_{pool_of(layout::cache_sizes(spec, passes_), layout::cache_sizes(spec, passes_).pages)},
      lengths_(passes_.sequences, -1) {
    const auto sizes = layout::cache_sizes(spec, passes_);
    if (sizes.window_pages > 0) {
        window_pages_ = pool_of(sizes, sizes.window_pages);
    }
    assembly_.train_executor().finish();  // parameters may still be in transfer to other ranks
}

std::int64_t CachedSequences::max_rows(CachedKind kind) const {
    return kind == CachedKind::logits ? passes_.logit_rows : passes_.prompt_rows;
}

std::int64_t CachedSequences::passes_for(CachedKind kind, std::int64_t tokens) const {
    return divide_up(tokens, max_rows(kind));
}

std::int64_t CachedSequences::free_pages() const {
    return window_pages_ ? std::min(pages_.num_free(), window_pages_->num_free()) : pages_.num_free();
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
    const auto share = [&](PagePool& pool, layout::CacheLayers layers) {
        const auto copy = pool.share(from, made, positions);
        if (copy.to >= 0) {
            assembly_.copy_cache_page(layers, copy.from, copy.to);
        }
    };
    share(pages_, layout::CacheLayers::without_window);
    if (window_pages_) {
        share(*window_pages_, layout::CacheLayers::with_window);
    }
    return made;
}

void CachedSequences::close(int sequence) {
    pages_.clear(sequence);
    if (window_pages_) {
        window_pages_->clear(sequence);
    }
    lengths_.at(sequence) = -1;
}

void CachedSequences::make_room(std::span<const NextToken> tokens) {
    for (const auto& next : tokens) {
        const auto position = lengths_.at(next.sequence)++;
        ZG_EXPECTS(position >= 0 && position < passes_.positions);
        pages_.extend(next.sequence, position, position + 1);
        if (window_pages_) {
            window_pages_->extend(next.sequence, position, position + 1);
        }
    }
}

void CachedSequences::run(CachedKind kind, std::span<const NextToken> tokens) {
    auto& program = assembly_.cached(kind);
    const auto& slot = program.slot();
    ZG_EXPECTS(tokens.size() <= slot.tokens.size());
    if (window_pages_) {  // pages that no token of this pass attends to
        for (const auto& next : tokens) {
            window_pages_->drop_before(next.sequence, lengths_[next.sequence] - spec_.model.window + 1);
        }
    }
    std::ranges::fill(slot.tokens, 0);
    std::ranges::fill(slot.positions, 0);
    std::ranges::fill(slot.cache_sequences, -1);
    std::ranges::fill(slot.targets, 0);
    std::ranges::fill(slot.mask, std::uint8_t{0});
    auto next_position = lengths_;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const auto& next = tokens[i];
        slot.tokens[i] = next.token;
        slot.positions[i] = static_cast<std::int32_t>(next_position.at(next.sequence)++);
        slot.cache_sequences[i] = next.sequence;
        if (next.target >= 0 && kind == CachedKind::logits) {
            slot.targets[i] = next.target;
            slot.mask[i] = 1;
        }
    }
    make_room(tokens);
    std::ranges::copy(pages_.table(), slot.page_table.begin());
    if (window_pages_) {
        std::ranges::copy(window_pages_->table(), slot.window_page_table.begin());
    }
    set_moved_pages(tokens);
    program.executor->run_step();
    program.executor->finish();  // the other program uses the same memory
}

void CachedSequences::set_moved_pages(std::span<const NextToken> tokens) {
    if (spec_.tiers.kv_cache == spec::Tier::device) {
        return;
    }
    const auto set = [&](const PagePool& pool, layout::CacheLayers layers) {
        std::vector<std::int32_t> in_use, changed;
        std::ranges::copy_if(pool.table(), std::back_inserter(in_use),
                             [](std::int32_t page) { return page >= 0; });
        auto ends = lengths_;
        for (auto i = std::ssize(tokens) - 1; i >= 0; --i) {
            changed.push_back(pool.page_of(tokens[i].sequence, --ends[tokens[i].sequence]));
        }
        assembly_.cache_pages().set(layers, in_use, changed);
    };
    set(pages_, layout::CacheLayers::without_window);
    if (window_pages_) {
        set(*window_pages_, layout::CacheLayers::with_window);
    }
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

std::span<const float> CachedSequences::logits(int sequence, std::int32_t token) {
    auto& program = assembly_.cached(CachedKind::logits);
    program.watch.set_row(0);
    const NextToken next{sequence, token};
    run(CachedKind::logits, {&next, 1});
    program.watch.set_row(-1);
    return program.watch.logits(assembly_.world());
}

}  // namespace ziggurat::train
