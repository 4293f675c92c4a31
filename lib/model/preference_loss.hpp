/// preference_loss: the loss of pairs of a preference objective, as kernels take it.
#pragma once

#include "kernels/element/preference_element.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::model {

inline kernels::PreferenceLoss preference_loss(const spec::Objective& objective) {
    return {.is_ipo = objective.kind == spec::ObjectiveKind::ipo,
            .beta = static_cast<float>(objective.beta),
            .label_smoothing = static_cast<float>(objective.label_smoothing)};
}

}  // namespace ziggurat::model
