/// The constant factor and the soft cap of a model's logits, as kernels take them.
#pragma once

#include "kernels/element/cross_entropy_element.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::model {

inline kernels::LogitTransform logit_transform(const spec::Model& model) {
    return {static_cast<float>(model.multiplier.logits), static_cast<float>(model.softcap.logits)};
}

}  // namespace ziggurat::model
