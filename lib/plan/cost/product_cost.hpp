/// Time of the matrix products and of the attention of an op.
#pragma once

#include <cstdint>

#include "layout/families/family.hpp"
#include "plan/cost/rates.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// A product of matrices [m, k] x [k, n].
struct ProductExtents {
    double m = 0;
    double n = 0;
    double k = 0;

    double flops() const noexcept { return 2 * m * n * k; }
};

/// Returns the product of a phase with its weight, or with the columns of it that the op covers.
///
/// Forward is [tokens, in] x [in, out]; the gradient of the input exchanges in and out; the gradient of the
/// weight sums over tokens.
ProductExtents product_of(const schedule::Op& op, const layout::Phase& phase);

/// Memory traffic that bounds the time of a product from below.
struct ProductMemory {
    std::int64_t element_bytes = 4;  ///< size of an element of the three matrices
    double bandwidth = 0;            ///< bytes/s of a rank's kernels; 0: no bound
};

/// Returns the seconds of a product; at least those of reading and writing its matrices.
double product_seconds(const ProductExtents& product,
                       const spec::ProductRate& rate,
                       const ProductMemory& memory);

/// Returns the seconds of all products of an op of a linear phase or of logits, adapters included.
///
/// \param lora_rank  rank of the adapters, if the phase has any
double products_seconds(const schedule::Op& op,
                        const layout::Phase& phase,
                        std::int64_t element_bytes,
                        std::int64_t lora_rank,
                        const Rates& rates);

/// Returns the seconds of attention.
double attention_seconds(const schedule::Op& op, const Rates& rates);

}  // namespace ziggurat::plan
