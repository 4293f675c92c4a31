/// Cache of the tokens of short pieces of text.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace ziggurat::data {

/// Direct-mapped cache: the last piece of each of 65,536 slots of one cache line, 4 MiB.
///
/// For one thread.
class PieceCache {
  public:
    static constexpr std::size_t max_bytes = 31;
    static constexpr std::size_t max_tokens = 7;

    /// Key of a piece: its bytes, zeros, and its length in the last byte.
    using Key = std::array<std::uint64_t, 4>;

    PieceCache() : entries_(num_entries) {}

    /// \param piece  of 1 to `max_bytes` bytes
    static Key key_of(std::string_view piece) noexcept {
        Key key{};
        std::memcpy(key.data(), piece.data(), piece.size());
        key.back() |= std::uint64_t{piece.size()} << 56U;
        return key;
    }

    /// Returns the stored tokens of a piece, valid until the next put(); empty if unknown.
    std::span<const std::int32_t> find(const Key& key) const noexcept {
        const Entry& entry = entries_[slot_of(key)];
        return {entry.ids.data(), entry.key == key ? entry.tokens : std::size_t{0}};
    }

    /// Stores the tokens if they fit into a slot.
    void put(const Key& key, std::span<const std::int32_t> ids) noexcept {
        if (ids.size() <= max_tokens) {
            Entry& entry = entries_[slot_of(key)];
            entry.key = key;
            entry.tokens = static_cast<std::uint32_t>(ids.size());
            std::copy(ids.begin(), ids.end(), entry.ids.begin());
        }
    }

  private:
    static constexpr std::size_t num_entries = std::size_t{1} << 16;

    struct alignas(64) Entry {
        Key key{};
        std::uint32_t tokens = 0;
        std::array<std::int32_t, max_tokens> ids{};
    };
    static_assert(sizeof(Entry) == 64);

    static std::size_t slot_of(const Key& key) noexcept {
        constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;
        std::uint64_t mixed = 0;
        for (const auto word : key) {
            mixed = (mixed ^ word) * odd;
            mixed ^= mixed >> 32U;
        }
        return mixed % num_entries;
    }

    std::vector<Entry> entries_;
};

}  // namespace ziggurat::data
