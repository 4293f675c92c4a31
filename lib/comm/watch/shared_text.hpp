/// SharedText: short texts that one process writes and others may read at any time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ziggurat::comm {

/// Text of up to Bytes characters in shared memory; longer texts are cut.
///
/// Zeroed memory is an empty text.
///
/// It consists of atomic words, so each word is consistent. A reader during a change may get parts of both
/// texts, which is acceptable for human-readable messages. One writer at a time.
template <std::size_t Bytes>
class SharedText {
    static_assert(Bytes % sizeof(std::uint64_t) == 0);
    static constexpr std::size_t num_words = Bytes / sizeof(std::uint64_t);

  public:
    /// Stores a text; cheap enough for every op of a step: no call, no lock, a few stores.
    void store(std::string_view text) noexcept {
        const std::size_t length = std::min(text.size(), Bytes);
        length_.store(static_cast<std::uint32_t>(length), std::memory_order_relaxed);
        for (std::size_t at = 0; at < length; at += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data() + at, std::min(sizeof word, length - at));
            words_[at / sizeof word].store(word, std::memory_order_relaxed);
        }
    }

    std::string load() const {
        const std::size_t length = std::min<std::size_t>(length_.load(std::memory_order_relaxed), Bytes);
        std::string text(length, '\0');
        for (std::size_t at = 0; at < length; at += sizeof(std::uint64_t)) {
            const std::uint64_t word = words_[at / sizeof word].load(std::memory_order_relaxed);
            std::memcpy(text.data() + at, &word, std::min(sizeof word, length - at));
        }
        return text;
    }

  private:
    std::atomic<std::uint32_t> length_{0};
    std::array<std::atomic<std::uint64_t>, num_words> words_{};
};

}  // namespace ziggurat::comm
