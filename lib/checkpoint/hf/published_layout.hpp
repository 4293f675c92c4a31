/// Published tensors of a model, and where elements of ours lie in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/box.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// A tensor of ours within a published one.
struct PublishedPart {
    std::string tensor;               ///< "layers.3.attention.q.weight"
    std::vector<std::int64_t> shape;  ///< without rows that pad the vocabulary
    /// Its rows lie in groups of so many, each group so many rows of the published tensor behind the last.
    std::int64_t group_rows = 0;
    std::int64_t group_stride = 0;
    std::int64_t first_row = 0;  ///< of the published tensor
};

/// A published tensor as a matrix of [rows, columns], as ours are; a vector has one column.
struct PublishedLayout {
    std::string name;
    std::vector<std::int64_t> shape;  ///< in the file
    std::int64_t rows = 0;
    std::int64_t columns = 1;
    bool is_transposed = false;  ///< in the file
    std::vector<PublishedPart> parts;

    std::int64_t elements() const noexcept { return rows * columns; }
};

/// All published tensors of `model`, in the order of use.
/// \pre the model is one that the deck's rules accept
std::vector<PublishedLayout> published_layouts(const spec::Model& model);

/// Names of buffers that files of older versions have next to those, and that hold no weights.
std::vector<std::string> buffer_names(const spec::Model& model);

/// Elements that lie side by side in a published tensor, and those of a box of ours that they are.
struct PublishedRun {
    std::int64_t offset = 0;  ///< in the published tensor
    std::int64_t elements = 0;
    std::int64_t offset_in_box = 0;
    std::int64_t step_in_box = 1;  ///< from one element to the next
};

/// Calls `use` with the runs that make up `box` of `part`.
template <class Use>
void for_each_run(const PublishedLayout& layout, const PublishedPart& part, const Box& box, const Use& use) {
    const std::int64_t first_row = box.begin.front();
    const std::int64_t end_row = first_row + box.extent.front();
    const std::int64_t first_column = box.begin.size() > 1 ? box.begin[1] : 0;
    const std::int64_t columns = box.begin.size() > 1 ? box.extent[1] : 1;
    for (std::int64_t row = first_row; row < end_row;) {
        const std::int64_t in_group = row % part.group_rows;
        const std::int64_t rows = std::min(part.group_rows - in_group, end_row - row);
        const std::int64_t there = part.first_row + row / part.group_rows * part.group_stride + in_group;
        const std::int64_t here = (row - first_row) * columns;
        if (layout.is_transposed) {
            for (std::int64_t c = 0; c < columns; ++c) {
                use(PublishedRun{(first_column + c) * layout.rows + there, rows, here + c, columns});
            }
        } else if (columns == layout.columns) {
            use(PublishedRun{there * columns, rows * columns, here, 1});
        } else {
            for (std::int64_t r = 0; r < rows; ++r) {
                use(PublishedRun{(there + r) * layout.columns + first_column, columns, here + r * columns,
                                 1});
            }
        }
        row += rows;
    }
}

}  // namespace ziggurat::checkpoint::hf
