/// The matrix products of a training step, and how long plain oneDNN takes for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::perf {

/// `count` products C[m, n] = A[m, k] B[k, n] of one kind in a step; `batch` of them at once.
struct Product {
    std::string name;
    std::int64_t m = 0, n = 0, k = 0;
    std::int64_t batch = 1;
    double count = 0;  ///< per step; attention counts halves: what lies above the diagonal is not needed
    bool a_is_transposed = false;  ///< A is stored [k, m]
    bool b_is_transposed = false;  ///< B is stored [n, k]
    bool result_is_f32 = false;

    double flops() const { return 2.0 * double(m) * double(n) * double(k) * double(batch) * count; }
};

/// Forward, and backward to inputs and weights, of every linear, the head and attention (2 products forward,
/// 4 backward). Weights are stored [out, in].
std::vector<Product> products_of(const spec::RunSpec& spec);

/// Seconds of one of `product`, plain: nothing packed, nothing fused. The best of several runs.
double seconds_of(const Product& product, spec::DType type);

}  // namespace ziggurat::perf
