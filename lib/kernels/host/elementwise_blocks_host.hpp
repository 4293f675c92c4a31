/// Cuts flat buffers into blocks for the threads of the host; only *_host.cpp files include it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/host/rows_host.hpp"

namespace ziggurat::kernels::host {

/// Calls body(begin, count) for blocks that cover [0, size).
template <class Body>
void for_blocks(const char* name, std::int64_t size, const Body& body) {
    constexpr std::int64_t block = 8192;
    for_rows(name, (size + block - 1) / block, [&](std::int64_t index) {
        const auto begin = index * block;
        body(begin, std::min(block, size - begin));
    });
}

}  // namespace ziggurat::kernels::host
