/// Boxes of tensors: the ranges that pieces of a checkpoint cover.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ziggurat::checkpoint {

/// The elements with begin[k] <= index[k] < begin[k] + extent[k] of a tensor, in row-major order.
struct Box {
    std::vector<std::int64_t> begin;
    std::vector<std::int64_t> extent;

    std::int64_t elements() const noexcept;
    bool is_empty() const noexcept { return elements() == 0; }
    bool operator==(const Box&) const = default;
};

/// Returns the box that covers a whole tensor.
Box whole(const std::vector<std::int64_t>& shape);

/// Returns boxes that cover the elements [first, last) of `window`, counted in its row-major order.
///
/// The boxes are boxes of the tensor that contains the window, in that order: at most 2n - 1 for rank n. Each
/// box is contiguous in memory that holds the window in row-major order.
///
std::vector<Box> boxes_of_run(const Box& window, std::int64_t first, std::int64_t last);

/// Returns the intersection of two boxes of one tensor; nullopt if it is empty.
std::optional<Box> common_part(const Box& a, const Box& b);

/// Returns true if the boxes together hold each element of a tensor of `shape` exactly once.
///
/// Each box lies within the tensor. Takes O(n log n) time for n boxes, times 2 for each dim in which any box
/// is split.
///
/// \pre shape.size() <= 16, and its elements, one more along each dim, fit into 63 bits
bool cover_once(const std::vector<const Box*>& boxes, const std::vector<std::int64_t>& shape);

/// Range of elements that is contiguous in two memories, each of which holds a box in row-major order.
struct CommonRun {
    std::int64_t offset_in_a = 0;  ///< elements
    std::int64_t offset_in_b = 0;
    std::int64_t elements = 0;
};

/// Returns the common ranges of memories with boxes `a` and `b` that cover `part`, in order.
///
/// The number of ranges is the minimum.
///
/// \pre `part` lies in `a` and in `b`
std::vector<CommonRun> common_runs(const Box& part, const Box& a, const Box& b);

}  // namespace ziggurat::checkpoint
