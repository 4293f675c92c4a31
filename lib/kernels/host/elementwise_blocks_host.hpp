/// Division of flat buffers into blocks for the threads of the host; only *_host.cpp files include it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/host/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

template <class From, class To>
void convert_block(const From* from, To* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        tensor::store(to[i], float(from[i]));
    }
}

/// Calls body(begin, count) for blocks that cover [0, size).
template <class Body>
void for_blocks(const char* name, std::int64_t size, const Body& body) {
    constexpr std::int64_t block = 8192;
    for_rows(name, (size + block - 1) / block, [&](std::int64_t index) {
        const auto begin = index * block;
        body(begin, std::min(block, size - begin));
    });
}

/// Computes to = from, rounded if To is the narrower type.
template <class From, class To>
void convert_blocks(const From* from, To* to, std::int64_t size) {
    for_blocks("ziggurat::convert", size, [=](std::int64_t begin, std::int64_t count) {
        convert_block(from + begin, to + begin, count);
    });
}

}  // namespace ziggurat::kernels::host
