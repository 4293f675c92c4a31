/// Control group of this process, as far as it limits memory.
#pragma once

#include <cstdint>

namespace ziggurat::deck {

/// The group, of this process's own and those around it, that grants the least.
struct MemoryGroup {
    std::int64_t granted_bytes = INT64_MAX;  ///< the highest number: any amount
    std::int64_t used_bytes = 0;             ///< without file pages that the kernel gives back by itself
};

/// Of version 1 or 2.
MemoryGroup memory_group();

}  // namespace ziggurat::deck
