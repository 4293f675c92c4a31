/// Fit of the rate of matrix products to measured times.
#pragma once

#include <span>

#include "plan/cost/product_cost.hpp"
#include "spec/machine_spec.hpp"

namespace ziggurat::plan {

/// Measured time of one product.
struct ProductSample {
    ProductExtents extents;
    double seconds = 0;
};

/// Returns the rate with the minimum sum of squared logarithms of fitted over measured time.
///
/// Levenberg-Marquardt on the logarithms of the five numbers, from several starts. All numbers are rounded as
/// machine files store them: to whole ones, and calls to nanoseconds. Few samples, or samples with one extent
/// only, give a rate that fits them and nothing else.
///
/// Source: Moré, "The Levenberg-Marquardt algorithm: implementation and theory", 1978, section 2
/// \pre there are samples; their extents, FLOP and seconds are above 0
spec::ProductRate fit_products(std::span<const ProductSample> samples, const ProductMemory& memory);

/// Returns the root mean square of ln(fitted / measured); 0.1 is an error of about 10 %.
double fit_error(std::span<const ProductSample> samples,
                 const spec::ProductRate& rate,
                 const ProductMemory& memory);

}  // namespace ziggurat::plan
