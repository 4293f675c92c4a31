/// Weights of the training sources by step.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns the weight of each source of data.train in a step, counted from 0.
std::vector<double> weights_at(const Data& data, std::int64_t step);

/// Returns step 0 and the steps from which a weight of data.train is another one; sorted and unique.
std::vector<std::int64_t> weight_steps(const Data& data);

/// Returns the part of the sequences of the first `steps` steps that each source of data.train gives.
///
/// \pre in each step, a weight is above 0
std::vector<double> mean_shares(const Data& data, std::int64_t steps);

}  // namespace ziggurat::spec
