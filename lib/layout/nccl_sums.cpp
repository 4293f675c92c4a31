#include "layout/nccl_sums.hpp"

#include <cstddef>

namespace ziggurat::layout {

bool are_one_vector(std::span<const VectorBlock> blocks) {
    for (std::size_t m = 0; m < blocks.size(); ++m) {
        const bool is_close = m == 0 || blocks[m].offset == blocks[m - 1].offset + blocks[m - 1].bytes;
        if (!is_close || blocks[m].bytes == 0 || blocks[m].bytes != blocks[0].bytes) {
            return false;
        }
    }
    return true;
}

bool is_summed_in_pieces(spec::DType type, std::span<const VectorBlock> blocks) {
    // A sum of two members has one order and one rounding.
    const bool rounds_once = type == spec::DType::f32 || blocks.size() == 2;
    return blocks.size() > 1 && !(rounds_once && are_one_vector(blocks));
}

}  // namespace ziggurat::layout
