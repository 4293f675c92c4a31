/// What the ranks of a node tell each other beside their collectives: who sleeps, who waits for what, who has
/// given up. Lies in one shared segment per node, zeroed when made.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "comm/bell.hpp"

namespace ziggurat::comm {

/// What one rank waits for, written by him and read by whoever looks for the culprit of a hang.
struct alignas(64) WaitRecord {
    static constexpr std::size_t text_bytes = 232;

    std::atomic<std::uint32_t> version{0};  ///< odd while it is written
    std::atomic<std::int64_t> since_ns{0};  ///< monotonic_ns(), common to the node; 0: does not wait
    std::array<std::atomic<std::uint64_t>, text_bytes / 8> text{};

    /// Local.
    void publish(std::string_view waiting_for, std::int64_t since) noexcept {
        version.fetch_add(1, std::memory_order_acq_rel);
        for (std::size_t word = 0; word < text.size(); ++word) {
            const auto rest = waiting_for.substr(std::min(waiting_for.size(), word * 8));
            std::uint64_t value = 0;
            std::memcpy(&value, rest.data(), std::min<std::size_t>(rest.size(), 8));
            text[word].store(value, std::memory_order_relaxed);
        }
        since_ns.store(since, std::memory_order_relaxed);
        version.fetch_add(1, std::memory_order_release);
    }

    /// Local. The wait is over.
    void clear() noexcept { since_ns.store(0, std::memory_order_relaxed); }

    /// What is waited for; empty when it changes while it is read.
    std::string read() const {
        std::string words(text_bytes, '\0');
        const std::uint32_t before = version.load(std::memory_order_acquire);
        for (std::size_t word = 0; word < text.size(); ++word) {
            const std::uint64_t value = text[word].load(std::memory_order_acquire);
            std::memcpy(words.data() + word * 8, &value, 8);
        }
        const bool is_whole = before % 2 == 0 && version.load(std::memory_order_acquire) == before;
        return is_whole ? words.substr(0, words.find('\0')) : std::string{};
    }
};
static_assert(sizeof(WaitRecord) == 256);

/// One rank of the node.
struct NodeMember {
    Bell bell;
    WaitRecord waits;
};

/// The head of a node's control segment; `NodeMember`s of all local ranks follow.
struct alignas(64) NodeHead {
    /// World rank + 1 of the first who gave up; 0 while nobody has. Whoever raises it rings all bells.
    std::atomic<std::uint32_t> abort{0};
};

}  // namespace ziggurat::comm
