#include "data/tokenizer/merges.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <queue>

#include "base/contract.hpp"
#include "base/error.hpp"

namespace ziggurat::data {

MergeTable::MergeTable(std::size_t count) : mask_{std::bit_ceil(2 * count + 2) - 1}, slots_(mask_ + 1) {}

void MergeTable::add(std::int32_t left, std::int32_t right, Merge merge) {
    ZG_EXPECTS(left >= 0 && right >= 0 && merge.id >= 0);
    const std::uint64_t key = key_of(left, right);
    std::size_t slot = first_slot(key);
    while (slots_[slot].key != free_key && slots_[slot].key != key) {
        slot = (slot + 1) & mask_;
    }
    slots_[slot] = {key, merge};
}

std::size_t merge_few_tokens(const MergeTable& merges, std::span<std::int32_t> ids) {
    ZG_EXPECTS(ids.size() <= few_tokens);
    std::size_t count = ids.size();
    std::array<MergeTable::Merge, few_tokens> of_pair;  // [i]: of tokens i and i + 1
    for (std::size_t i = 0; i + 1 < count; ++i) {
        of_pair[i] = merges.find(ids[i], ids[i + 1]);
    }
    while (count > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < count; ++i) {
            best = of_pair[i].rank < of_pair[best].rank ? i : best;
        }
        if (of_pair[best].rank == MergeTable::no_rank) {
            break;
        }
        ids[best] = of_pair[best].id;
        --count;
        for (std::size_t i = best + 1; i < count; ++i) {
            ids[i] = ids[i + 1];
            of_pair[i - 1] = of_pair[i];
        }
        if (best > 0) {
            of_pair[best - 1] = merges.find(ids[best - 1], ids[best]);
        }
        if (best + 1 < count) {
            of_pair[best] = merges.find(ids[best], ids[best + 1]);
        }
    }
    return count;
}

namespace {

constexpr std::uint32_t no_neighbour = ~std::uint32_t{0};

struct Neighbours {
    std::uint32_t before = no_neighbour;
    std::uint32_t after = no_neighbour;
};

/// A pair that may have changed since it was found. In that case one of its ids has changed.
struct FoundPair {
    std::uint32_t rank;
    std::uint32_t at;  ///< of its left token
    std::int32_t left, right;

    /// Orders a queue by lowest rank, then by leftmost position.
    bool operator<(const FoundPair& other) const noexcept {
        return rank != other.rank ? rank > other.rank : at > other.at;
    }
};

/// Tokens as a linked list, and a queue of its pairs by rank.
class TokenList {
  public:
    TokenList(const MergeTable& merges, std::span<std::int32_t> ids)
        : merges_{merges}, ids_{ids}, neighbours_(ids.size()) {
        const auto count = static_cast<std::uint32_t>(ids.size());
        std::vector<FoundPair> found;
        for (std::uint32_t i = 0; i < count; ++i) {
            neighbours_[i] = {i == 0 ? no_neighbour : i - 1, i + 1 == count ? no_neighbour : i + 1};
            if (const auto rank = rank_at(i); rank != MergeTable::no_rank) {
                found.push_back({rank, i, ids_[i], ids_[i + 1]});
            }
        }
        queue_ = std::priority_queue<FoundPair>{{}, std::move(found)};
    }

    void merge_all() {
        while (!queue_.empty()) {
            const FoundPair pair = queue_.top();
            queue_.pop();
            const std::uint32_t right = ids_[pair.at] < 0 ? no_neighbour : neighbours_[pair.at].after;
            if (right == no_neighbour || ids_[pair.at] != pair.left || ids_[right] != pair.right) {
                continue;
            }
            ids_[pair.at] = merges_.find(pair.left, pair.right).id;
            ids_[right] = gone;
            const std::uint32_t after = neighbours_[right].after;
            neighbours_[pair.at].after = after;
            if (after != no_neighbour) {
                neighbours_[after].before = pair.at;
            }
            find_pair_at(neighbours_[pair.at].before);
            find_pair_at(pair.at);
        }
    }

    std::size_t compact() {
        const auto left = std::ranges::remove_if(ids_, [](std::int32_t id) { return id == gone; });
        return ids_.size() - left.size();
    }

  private:
    static constexpr std::int32_t gone = -1;

    std::uint32_t rank_at(std::uint32_t at) const {
        const auto right = neighbours_[at].after;
        return right == no_neighbour ? MergeTable::no_rank : merges_.find(ids_[at], ids_[right]).rank;
    }
    void find_pair_at(std::uint32_t at) {
        if (at == no_neighbour) {
            return;
        }
        if (const auto rank = rank_at(at); rank != MergeTable::no_rank) {
            queue_.push({rank, at, ids_[at], ids_[neighbours_[at].after]});
        }
    }

    const MergeTable& merges_;
    std::span<std::int32_t> ids_;
    std::vector<Neighbours> neighbours_;
    std::priority_queue<FoundPair> queue_;
};

}  // namespace

std::size_t merge_many_tokens(const MergeTable& merges, std::span<std::int32_t> ids) {
    if (ids.size() >= no_neighbour) {
        throw Error{ErrorKind::deck,
                    "a text has 2^32 bytes or more without a place to split it. Split it into "
                    "smaller documents."};
    }
    TokenList list{merges, ids};
    list.merge_all();
    return list.compact();
}

std::size_t merge_tokens(const MergeTable& merges, std::span<std::int32_t> ids) {
    return ids.size() <= few_tokens ? merge_few_tokens(merges, ids) : merge_many_tokens(merges, ids);
}

}  // namespace ziggurat::data
