#include "layout/chunk_layout.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "base/round_up.hpp"

namespace ziggurat::layout {

ChunkLayout::ChunkLayout(std::vector<UnitRange> shards, std::int64_t chunk_elements, std::int64_t alignment)
    : shards_{std::move(shards)} {
    ZG_EXPECTS(chunk_elements >= 0 && alignment > 0 && alignment % FlatLayout::block == 0);
    chunk_elements_ = round_up(chunk_elements == 0 ? usual_elements : chunk_elements, alignment);
    std::erase_if(shards_, [](const UnitRange& shard) { return shard.range.empty(); });
    begins_.push_back(0);
    for (const auto& shard : shards_) {
        begins_.push_back(begins_.back() + round_up(shard.range.size(), alignment));
    }
}

int ChunkLayout::num_chunks() const noexcept {
    return static_cast<int>((elements() + chunk_elements_ - 1) / chunk_elements_);
}

std::vector<UnitRange> ChunkLayout::chunk(int k) const {
    ZG_EXPECTS(0 <= k && k < num_chunks());
    return chunks(k, k + 1);
}

std::vector<UnitRange> ChunkLayout::chunks(int from, int to) const {
    ZG_EXPECTS(0 <= from && from <= to && to <= num_chunks());
    const auto begin = from * chunk_elements_;
    const auto end = std::min(to * chunk_elements_, elements());
    const auto first = std::upper_bound(begins_.begin(), begins_.end(), begin) - begins_.begin() - 1;
    std::vector<UnitRange> runs;
    for (std::size_t s = first; s < shards_.size() && begins_[s] < end && begin < end; ++s) {
        const auto base = shards_[s].range.begin - begins_[s];
        runs.push_back({shards_[s].unit,
                        {base + std::max(begin, begins_[s]), std::min(base + end, shards_[s].range.end)}});
    }
    return runs;
}

}  // namespace ziggurat::layout
