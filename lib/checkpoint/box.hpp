/// Boxes of tensors, which pieces of a checkpoint cover.
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

/// All of a tensor.
Box whole(const std::vector<std::int64_t>& shape);

/// The elements [first, last) of `window`, counted in its row-major order, as boxes of the tensor that the
/// window lies in, in that order: at most 2n - 1 for rank n. Each box is contiguous in a memory that holds
/// the window row by row.
///
/// \pre 0 <= first <= last <= window.elements()
std::vector<Box> boxes_of_run(const Box& window, std::int64_t first, std::int64_t last);

/// The box that two boxes of one tensor share; nothing when that is empty.
std::optional<Box> common_part(const Box& a, const Box& b);

/// True when the boxes, each within a tensor of `shape`, hold each of its elements exactly once. Takes time
/// like n log n for n boxes, but twice as much for each dim in which any of them is cut.
///
/// \pre shape.size() <= 16, and its elements, one more along each dim, fit into 63 bits
bool cover_once(const std::vector<const Box*>& boxes, const std::vector<std::int64_t>& shape);

/// Elements that lie side by side in two memories, each of which holds a box row by row.
struct CommonRun {
    std::int64_t offset_in_a = 0;  ///< elements
    std::int64_t offset_in_b = 0;
    std::int64_t elements = 0;
};

/// The fewest common runs that make up `part`, in order, of memories that hold the boxes `a` and `b`.
///
/// \pre `part` lies in `a` and in `b`
std::vector<CommonRun> common_runs(const Box& part, const Box& a, const Box& b);

}  // namespace ziggurat::checkpoint
