/// Published tensors of a model, and the positions of model elements in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/box.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// A model tensor within a published tensor.
struct HfPart {
    std::string tensor;               ///< "layers.3.attention.q.weight"
    std::vector<std::int64_t> shape;  ///< without rows that pad the vocabulary
    /// Rows per group; groups are `group_stride` rows of the published tensor apart.
    std::int64_t group_rows = 0;
    std::int64_t group_stride = 0;
    std::int64_t first_row = 0;  ///< in the published tensor
};

/// A published tensor as a matrix [rows, columns] in model orientation; a vector has one column.
struct HfLayout {
    std::string name;
    std::vector<std::int64_t> shape;  ///< shape in the file
    std::int64_t rows = 0;
    std::int64_t columns = 1;
    bool is_transposed = false;  ///< true if the file stores the transpose
    std::vector<HfPart> parts;

    std::int64_t elements() const noexcept { return rows * columns; }
};

/// Returns all published tensors of `model`, in the order of use.
/// \pre the deck's rules accept the model
std::vector<HfLayout> hf_layouts(const spec::Model& model);

/// Returns the names of buffers in files of older versions; they hold no weights.
std::vector<std::string> buffer_names(const spec::Model& model);

/// Contiguous elements of a published tensor, and their positions in a box of a model tensor.
struct HfRun {
    std::int64_t offset = 0;  ///< in the published tensor
    std::int64_t elements = 0;
    std::int64_t offset_in_box = 0;
    std::int64_t step_in_box = 1;  ///< stride from one element to the next
};

/// Calls `use` with the ranges that make up `box` of `part`.
template <class Use>
void for_each_run(const HfLayout& layout, const HfPart& part, const Box& box, const Use& use) {
    const std::int64_t first_row = box.begin.front();
    const std::int64_t end_row = first_row + box.extent.front();
    const std::int64_t first_column = box.begin.size() > 1 ? box.begin[1] : 0;
    const std::int64_t columns = box.begin.size() > 1 ? box.extent[1] : 1;
    for (std::int64_t row = first_row; row < end_row;) {
        const std::int64_t in_group = row % part.group_rows;
        const std::int64_t rows = std::min(part.group_rows - in_group, end_row - row);
        const std::int64_t there = part.first_row + row / part.group_rows * part.group_stride + in_group;
        const std::int64_t unchanged = (row - first_row) * columns;
        if (layout.is_transposed) {
            for (std::int64_t c = 0; c < columns; ++c) {
                use(HfRun{(first_column + c) * layout.rows + there, rows, unchanged + c, columns});
            }
        } else if (columns == layout.columns) {
            use(HfRun{there * columns, rows * columns, unchanged, 1});
        } else {
            for (std::int64_t r = 0; r < rows; ++r) {
                use(HfRun{(there + r) * layout.columns + first_column, columns, unchanged + r * columns, 1});
            }
        }
        row += rows;
    }
}

}  // namespace ziggurat::checkpoint::hf
