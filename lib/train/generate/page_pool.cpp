#include "train/generate/page_pool.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "layout/cache/kv_cache.hpp"

namespace ziggurat::train {

PagePool::PagePool(std::int64_t sequences, std::int64_t pages_per_sequence, std::int64_t pages)
    : columns_{pages_per_sequence}, table_(sequences * pages_per_sequence, -1), users_(pages) {
    for (auto page = pages; page > 0; --page) {
        free_.push_back(static_cast<std::int32_t>(page - 1));
    }
}

std::int32_t PagePool::take() {
    ZG_EXPECTS(!free_.empty());
    const auto page = free_.back();
    free_.pop_back();
    users_[page] = 1;
    return page;
}

void PagePool::release(std::int32_t& page) {
    if (page >= 0 && --users_[page] == 0) {
        free_.push_back(page);
    }
    page = -1;
}

void PagePool::extend(int sequence, std::int64_t begin, std::int64_t end) {
    for (auto index = begin / layout::cache_page_positions; index < layout::cache_pages(end); ++index) {
        if (at(sequence, index) < 0) {
            at(sequence, index) = take();
        }
    }
}

void PagePool::drop_before(int sequence, std::int64_t position) {
    for (auto index = position / layout::cache_page_positions - 1; index >= 0 && at(sequence, index) >= 0;
         --index) {
        release(at(sequence, index));
    }
}

void PagePool::drop_after(int sequence, std::int64_t position) {
    const auto kept = layout::cache_pages(position);
    for (auto index = kept; index < columns_; ++index) {
        release(at(sequence, index));
    }
    if (position % layout::cache_page_positions != 0) {
        ZG_EXPECTS(users_[at(sequence, kept - 1)] == 1);
    }
}

void PagePool::clear(int sequence) {
    for (std::int64_t index = 0; index < columns_; ++index) {
        release(at(sequence, index));
    }
}

PagePool::PageCopy PagePool::share(int from, int to, std::int64_t positions) {
    const auto full = positions / layout::cache_page_positions;
    for (std::int64_t index = 0; index < full; ++index) {
        const auto page = at(from, index);
        at(to, index) = page;
        if (page >= 0) {
            ++users_[page];
        }
    }
    if (positions % layout::cache_page_positions == 0) {
        return {};
    }
    at(to, full) = take();
    return {at(from, full), at(to, full)};
}

}  // namespace ziggurat::train
