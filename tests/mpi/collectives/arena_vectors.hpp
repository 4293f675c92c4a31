/// Vectors in an arena that the ranks of a node share.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "comm/node/node_memory.hpp"
#include "device/arena.hpp"

namespace ziggurat::test {

/// Allocates from an arena, and never frees.
class ArenaVectors {
  public:
    /// Collective: over the world of `node`
    explicit ArenaVectors(comm::NodeMemory& node, std::int64_t bytes = std::int64_t{256} << 20)
        : arena_{bytes, "vectors of a test", device::Arena::Kind::shared},
          resource_{arena_.data(), static_cast<std::size_t>(bytes), std::pmr::null_memory_resource()} {
        node.share(arena_);
    }

    template <class T>
    std::pmr::vector<T> operator()(const std::vector<T>& values) {
        return {values.begin(), values.end(), &resource_};
    }
    template <class T>
    std::pmr::vector<T> operator()(std::size_t count, T value) {
        return {count, value, &resource_};
    }

  private:
    device::Arena arena_;
    std::pmr::monotonic_buffer_resource resource_;
};

}  // namespace ziggurat::test
