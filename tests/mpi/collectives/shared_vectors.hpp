/// Vectors in memory shared by the ranks of a node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "comm/node/node_memory.hpp"
#include "device/arena.hpp"

namespace ziggurat::test {

/// An arena, and the vectors allocated from it until it is cleared.
class SharedVectors {
  public:
    /// Collective: over the world of `node`
    SharedVectors(comm::NodeMemory& node, std::int64_t bytes)
        : arena_{bytes, "a test", device::Arena::Kind::shared} {
        node.share(arena_);
    }

    /// Returns a vector at an odd offset: aligned for its elements only.
    template <class T>
    std::span<T> take(std::int64_t elements) {
        const std::int64_t begin = used_;
        used_ += (elements + 1) * static_cast<std::int64_t>(sizeof(T));
        used_ += used_ % 4;
        if (used_ > arena_.bytes()) {
            std::abort();
        }
        return {reinterpret_cast<T*>(arena_.data() + begin), static_cast<std::size_t>(elements)};
    }
    template <class T>
    std::span<T> take(const std::vector<T>& values) {
        const auto copy = take<T>(std::ssize(values));
        std::copy(values.begin(), values.end(), copy.begin());
        return copy;
    }
    void clear() { used_ = 0; }

  private:
    device::Arena arena_;
    std::int64_t used_ = 0;
};

template <class T>
std::byte* bytes(std::span<T> vector) {
    return reinterpret_cast<std::byte*>(vector.data());
}

}  // namespace ziggurat::test
