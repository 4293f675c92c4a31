/// Merges of byte-pair encoding: pairs of tokens that become one token, and their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ziggurat::data {

/// The pairs that merge, by both ids.
class MergeTable {
  public:
    struct Merge {
        std::uint32_t rank = no_rank;  ///< lower ranks merge first
        std::int32_t id = -1;          ///< token that the pair becomes
    };
    static constexpr std::uint32_t no_rank = ~std::uint32_t{0};

    /// \param count  maximum number of pairs that will be added
    explicit MergeTable(std::size_t count);

    /// Adds a merge. If a pair is added twice, the later merge counts. Ids are >= 0.
    void add(std::int32_t left, std::int32_t right, Merge merge);

    /// Returns the merge of a pair; its rank is `no_rank` if the pair does not merge.
    Merge find(std::int32_t left, std::int32_t right) const noexcept {
        const std::uint64_t key = key_of(left, right);
        for (std::size_t slot = first_slot(key);; slot = (slot + 1) & mask_) {
            if (slots_[slot].key == key) {
                return slots_[slot].merge;
            }
            if (slots_[slot].key == free_key) {
                return {};
            }
        }
    }

  private:
    static constexpr std::uint64_t free_key = ~std::uint64_t{0};
    struct Slot {
        std::uint64_t key = free_key;
        Merge merge;
    };

    static std::uint64_t key_of(std::int32_t left, std::int32_t right) noexcept {
        return std::uint64_t{static_cast<std::uint32_t>(left)} << 32U | static_cast<std::uint32_t>(right);
    }
    std::size_t first_slot(std::uint64_t key) const noexcept {
        return (key * 0x9E3779B97F4A7C15U) >> 32U & mask_;
    }

    std::size_t mask_;
    std::vector<Slot> slots_;
};

/// Merges the tokens of a piece until no adjacent pair can merge.
///
/// Always merges the pair of lowest rank, and among equals the leftmost. Returns the number of tokens left,
/// which are at the beginning of `ids`.
///
/// Time: n log n of n tokens
/// Errors: Error{deck} if there are 2^32 tokens or more
std::size_t merge_tokens(const MergeTable& merges, std::span<std::int32_t> ids);

/// Does the same for a few tokens, in n^2 steps; merge_tokens() calls it if it is faster.
std::size_t merge_few_tokens(const MergeTable& merges, std::span<std::int32_t> ids);

/// Does the same for many tokens.
std::size_t merge_many_tokens(const MergeTable& merges, std::span<std::int32_t> ids);

/// Maximum number of tokens for merge_few_tokens().
inline constexpr std::size_t few_tokens = 48;

}  // namespace ziggurat::data
