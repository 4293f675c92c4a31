/// Boxes of tensors: what a piece of a checkpoint covers.
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

/// What two boxes of one tensor share; nothing when that is empty.
std::optional<Box> common_part(const Box& a, const Box& b);

/// Whether the boxes, each within a tensor of `shape`, hold each of its elements exactly once. Takes time
/// like n log n for n boxes, but twice as much for each dim in which any of them is cut.
///
/// \pre shape.size() <= 16, and its elements, one more along each dim, fit into 63 bits
bool cover_once(const std::vector<const Box*>& boxes, const std::vector<std::int64_t>& shape);

/// Elements of a box that lie side by side both in memory that holds `inside` row by row and in memory that
/// holds `whole` row by row.
struct Stretch {
    std::int64_t offset_in_whole = 0;  ///< elements
    std::int64_t offset_inside = 0;
    std::int64_t elements = 0;
};

/// `part` as the fewest stretches of two memories that hold the boxes `a` and `b`, both of which contain it:
/// offset_in_whole counts in `a`, offset_inside in `b`. In order of both.
std::vector<Stretch> stretches(const Box& part, const Box& a, const Box& b);

}  // namespace ziggurat::checkpoint
