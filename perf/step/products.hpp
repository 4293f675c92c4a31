/// Matrix products of a training step, and their time in plain oneDNN.
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
    double count = 0;  ///< per step; attention counts half: the part above the diagonal is not needed
    bool a_is_transposed = false;  ///< A is stored [k, m]
    bool b_is_transposed = false;  ///< B is stored [n, k]
    bool result_is_f32 = false;

    double flops() const { return 2.0 * double(m) * double(n) * double(k) * double(batch) * count; }
};

/// Returns all products of a step.
///
/// They are forward, and backward to inputs and weights, of every linear layer, the head and attention (2
/// products forward, 4 backward). Weights are stored [out, in].
std::vector<Product> products_of(const spec::RunSpec& spec);

/// Returns the seconds of one `product` in plain oneDNN, without packing and fusion. The best of
/// several runs.
double seconds_of(const Product& product, spec::DType type);

}  // namespace ziggurat::perf
