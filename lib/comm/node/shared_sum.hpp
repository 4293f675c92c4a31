/// Sums and copies in shared memory of a node, at memory bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "spec/dtype.hpp"

namespace ziggurat::comm {

/// Kind of stores. Non-temporal stores bypass the caches and do not read the written cache lines first.
///
/// They are faster if a call touches more than the last-level cache holds, and slower otherwise.
enum class Stores { ordinary, non_temporal };

/// Sum written to each output: one for a reduce-scatter, those of all members for an all-reduce.
struct SharedSum {
    std::span<const std::byte* const> inputs;  ///< by member; any alignment
    std::span<std::byte* const> outputs;       ///< each overlaps no input, or is one of them
    spec::DType type = spec::DType::f32;
    int sum_group = 0;  ///< as in `fold`
    Stores stores = Stores::ordinary;
};

/// Sums elements [begin, end), and reads each input once.
///
/// Numerics: the bits of `fold`, for any range, alignment and kind of stores
/// Async:    a reader that observes a later store of this thread also observes its non-temporal stores
void sum_shared(const SharedSum& sum, std::int64_t begin, std::int64_t end);

/// Copies bytes between ranges that do not overlap.
void copy_shared(std::byte* to, const std::byte* from, std::int64_t bytes, Stores stores);

/// Returns the size of the last-level cache of a core of this node.
std::int64_t last_level_cache_bytes();

}  // namespace ziggurat::comm
