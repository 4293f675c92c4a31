/// Choice: the fastest of several options to compute a product; only *_cuda.cu files include it.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

namespace ziggurat::kernels::cuda {

/// The options by which a GPU can compute a product, and the one in use.
struct Choice {
    int num_found = 0;
    int chosen = 0;
    bool is_measured = false;  ///< or known from an earlier measurement

    /// True if Stream::load() must time them.
    bool must_measure() const { return num_found > 1 && !is_measured; }
    /// Uses the option that ProductTuner::measure() knows, if it is one of those found.
    void use_known(int known);
    /// Times all options and uses the fastest. It replaces the first one if it is at least 1 % faster.
    ///
    /// \param start  starts the option with the given number once on `stream`
    void use_fastest(cudaStream_t stream, const std::function<void(int)>& start);
};

/// Fills `count` elements with multiples of 1/128 in [-1, 1) that have no pattern.
///
/// A GPU multiplies equal numbers faster than training data.
void fill_sample(cudaStream_t stream, cudaDataType_t type, std::int64_t count, void* to);

}  // namespace ziggurat::kernels::cuda
