/// A run of one layer on a GPU, for tests of fusions.
#pragma once

#include <string>

#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::test {

inline spec::RunSpec gpu_spec(const std::string& family) {
    auto spec = small_spec(family);
    spec.model.layers = 1;
    spec.train.micro_batches = 1;
    spec.tiers.device = spec::DeviceKind::cuda;
    spec.precision.compute = spec::DType::bf16;
    return spec;
}

}  // namespace ziggurat::test
