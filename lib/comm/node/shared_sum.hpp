/// Sums and copies between memories of a node, at the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "spec/dtype.hpp"

namespace ziggurat::comm {

/// Stores through the caches or past them. Past them, the bytes of the lines written need not be read first:
/// better as soon as a call touches more than the last-level cache holds, worse before.
enum class Stores { ordinary, non_temporal };

/// The same sum into each output: one for a reduce-scatter, those of all members for an all-reduce.
struct SharedSum {
    std::span<const std::byte* const> inputs;  ///< by member; any alignment
    std::span<std::byte* const> outputs;       ///< each apart from all inputs, or one of them
    spec::DType type = spec::DType::f32;
    int sum_group = 0;  ///< as `fold` has it
    Stores stores = Stores::ordinary;
};

/// Sums elements [begin, end) in one pass over all inputs.
///
/// Numerics: the bits of `fold`, for any range, alignment and kind of stores
/// Async:    a reader that sees a later store of this thread sees those past the caches, too
void sum_shared(const SharedSum& sum, std::int64_t begin, std::int64_t end);

/// Copies bytes between places that do not overlap.
void copy_shared(std::byte* to, const std::byte* from, std::int64_t bytes, Stores stores);

/// Bytes of the last-level cache that a core of this machine sees.
std::int64_t last_level_cache_bytes();

}  // namespace ziggurat::comm
