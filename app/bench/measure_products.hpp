/// Measurement of matrix products over a grid of shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/bench/bench_ranks.hpp"
#include "kernels/sample_linear.hpp"
#include "plan/calibrate/product_fit.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::app {

/// A product of a linear layer, and its time on the slowest rank.
struct TimedProduct {
    kernels::LinearProduct kind = kernels::LinearProduct::forward;
    std::int64_t rows = 0, in = 0, out = 0;  ///< of the layer
    double seconds = 0;

    plan::ProductSample sample() const;
};

/// Measures the three products of linear layers, all ranks at once.
///
/// Shapes are those of the layers of small and large models, with few and many tokens.
///
/// \param is_brief  fewer and smaller shapes
/// Collective: over the ranks
std::vector<TimedProduct> measure_products(BenchRanks& ranks, spec::DType type, bool is_brief);

/// Returns the rates that fit the measured times.
///
/// \param has_gpu  one rate for all products; on hosts, gradients of inputs and of weights have own rates
spec::ProductRates fit_linear_products(const std::vector<TimedProduct>& timed,
                                       const plan::ProductMemory& memory,
                                       bool has_gpu);

/// Returns a line for each rate, with the error of its fit.
std::string rates_lines(spec::DType type,
                        const std::vector<TimedProduct>& timed,
                        const spec::ProductRates& fitted,
                        const plan::ProductMemory& memory);

/// Returns a table of measured and fitted times.
std::string products_table(spec::DType type,
                           const std::vector<TimedProduct>& timed,
                           const spec::ProductRates& fitted,
                           const plan::ProductMemory& memory);

}  // namespace ziggurat::app
