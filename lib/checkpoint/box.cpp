#include "checkpoint/box.hpp"

#include <algorithm>
#include <span>

#include "base/contract.hpp"

namespace ziggurat::checkpoint {
namespace {

std::size_t rank_of(const Box& box) {
    ZG_EXPECTS(box.begin.size() == box.extent.size());
    return box.extent.size();
}

/// Elements of the dims after `dim`: the stride of `dim` in memory that holds `box` in row-major order.
std::int64_t row_elements(const Box& box, std::size_t dim) {
    std::int64_t elements = 1;
    for (std::size_t k = dim + 1; k < box.extent.size(); ++k) {
        elements *= box.extent[k];
    }
    return elements;
}

/// A corner of a box and its sign. The grid of corners has one more position per dim than the tensor.
struct Corner {
    std::int64_t position = 0;
    int sign = 1;
};

/// Appends the corners of a box along `dims`.
///
/// Prefix sums over all positions reproduce the box, so boxes add up to another box exactly if their corners
/// do.
void append_corners(const Box& box,
                    std::span<const std::size_t> dims,
                    std::span<const std::int64_t> strides,
                    int sign,
                    std::vector<Corner>& corners) {
    const std::size_t first = corners.size();
    corners.push_back({0, sign});
    for (std::size_t k = 0; k < dims.size(); ++k) {
        const std::int64_t begin = box.begin[dims[k]];
        const std::int64_t end = begin + box.extent[dims[k]];
        const std::size_t count = corners.size();
        for (std::size_t corner = first; corner < count; ++corner) {
            corners.push_back({corners[corner].position + end * strides[k], -corners[corner].sign});
            corners[corner].position += begin * strides[k];
        }
    }
}

/// Appends the boxes that cover [first, last) of `window`. Dims before `dim` have extent 1.
void append_run(
    const Box& window, std::size_t dim, std::int64_t first, std::int64_t last, std::vector<Box>& boxes) {
    if (first == last) {
        return;
    }
    if (dim == window.extent.size()) {
        boxes.push_back(window);
        return;
    }
    const std::int64_t row = row_elements(window, dim);
    const auto rows = [&](std::int64_t begin, std::int64_t end) {
        Box part = window;
        part.begin[dim] += begin;
        part.extent[dim] = end - begin;
        return part;
    };
    const std::int64_t head_row = first / row;
    const std::int64_t tail_row = last / row;
    if (head_row == tail_row) {
        append_run(rows(head_row, head_row + 1), dim + 1, first % row, last % row, boxes);
        return;
    }
    std::int64_t full_begin = head_row;
    if (first % row != 0) {
        append_run(rows(head_row, head_row + 1), dim + 1, first % row, row, boxes);
        ++full_begin;
    }
    if (full_begin < tail_row) {
        boxes.push_back(rows(full_begin, tail_row));
    }
    if (last % row != 0) {
        append_run(rows(tail_row, tail_row + 1), dim + 1, 0, last % row, boxes);
    }
}

}  // namespace

std::int64_t Box::elements() const noexcept {
    std::int64_t count = 1;
    for (const std::int64_t k : extent) {
        count *= k;
    }
    return count;
}

Box whole(const std::vector<std::int64_t>& shape) {
    return {std::vector<std::int64_t>(shape.size(), 0), shape};
}

std::vector<Box> boxes_of_run(const Box& window, std::int64_t first, std::int64_t last) {
    ZG_EXPECTS(rank_of(window) == window.begin.size());
    ZG_EXPECTS(0 <= first && first <= last && last <= window.elements());
    std::vector<Box> boxes;
    append_run(window, 0, first, last, boxes);
    return boxes;
}

std::optional<Box> common_part(const Box& a, const Box& b) {
    ZG_EXPECTS(rank_of(a) == rank_of(b));
    Box part = a;
    for (std::size_t k = 0; k < a.extent.size(); ++k) {
        part.begin[k] = std::max(a.begin[k], b.begin[k]);
        part.extent[k] = std::min(a.begin[k] + a.extent[k], b.begin[k] + b.extent[k]) - part.begin[k];
        if (part.extent[k] <= 0) {
            return std::nullopt;
        }
    }
    return part;
}

bool cover_once(const std::vector<const Box*>& boxes, const std::vector<std::int64_t>& shape) {
    ZG_EXPECTS(shape.size() <= 16);
    std::vector<std::size_t> dims;  // dims in which any box is split
    std::vector<std::int64_t> strides;
    std::int64_t stride = 1;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        const bool is_cut =
            std::ranges::any_of(boxes, [&](const Box* box) { return box->extent[dim] != shape[dim]; });
        if (is_cut) {
            dims.push_back(dim);
            strides.push_back(stride);
            stride *= shape[dim] + 1;
        }
    }
    std::vector<Corner> corners;
    corners.reserve((boxes.size() + 1) << dims.size());
    for (const Box* box : boxes) {
        append_corners(*box, dims, strides, 1, corners);
    }
    append_corners(whole(shape), dims, strides, -1, corners);
    std::ranges::sort(corners, {}, &Corner::position);
    for (std::size_t begin = 0; begin < corners.size();) {
        std::int64_t sum = 0;
        std::size_t end = begin;
        for (; end < corners.size() && corners[end].position == corners[begin].position; ++end) {
            sum += corners[end].sign;
        }
        if (sum != 0) {
            return false;
        }
        begin = end;
    }
    return true;
}

std::vector<CommonRun> common_runs(const Box& part, const Box& a, const Box& b) {
    const std::size_t rank = rank_of(part);
    ZG_EXPECTS(rank == rank_of(a) && rank == rank_of(b));
    if (part.is_empty()) {
        return {};
    }
    // Dims from `inner` on are contiguous in both: all of them except the first fill both boxes.
    std::size_t inner = rank;
    std::int64_t elements = 1;
    while (inner > 0) {
        --inner;
        elements *= part.extent[inner];
        if (part.extent[inner] != a.extent[inner] || part.extent[inner] != b.extent[inner]) {
            break;
        }
    }
    const auto offset_of = [&](const Box& box, const std::vector<std::int64_t>& index) {
        std::int64_t offset = 0;
        for (std::size_t k = 0; k < rank; ++k) {
            offset = offset * box.extent[k] + index[k] - box.begin[k];
        }
        return offset;
    };
    std::vector<CommonRun> found;
    found.reserve(part.elements() / elements);
    std::vector<std::int64_t> index = part.begin;
    for (;;) {
        found.push_back({offset_of(a, index), offset_of(b, index), elements});
        std::size_t dim = inner;
        while (dim > 0) {
            --dim;
            if (++index[dim] < part.begin[dim] + part.extent[dim]) {
                break;
            }
            index[dim] = part.begin[dim];
            if (dim == 0) {
                return found;
            }
        }
        if (inner == 0) {
            return found;
        }
    }
}

}  // namespace ziggurat::checkpoint
