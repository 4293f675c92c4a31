/// Argument checks of kernels with dropout.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/contract.hpp"
#include "kernels/launch/step_inputs.hpp"

namespace ziggurat::kernels {

/// Checks the arguments of dropout.
///
/// Errors: Error{internal} if the probability is outside [0, 1), or if it is positive and positions are
/// missing, or if the factor is not finite
inline void check_dropout(const Dropout& dropout) {
    ZG_EXPECTS(std::isfinite(dropout.factor));
    ZG_EXPECTS(dropout.probability >= 0 && dropout.probability < 1);
    ZG_EXPECTS(dropout.probability == 0 || (!dropout.inputs.empty() && !dropout.samples.empty()));
}

/// Does the same for a kernel with tokens as rows, and checks that `num_rows` rows belong to samples.
inline void check_dropout(const Dropout& dropout, std::int64_t num_rows) {
    check_dropout(dropout);
    ZG_EXPECTS(dropout.probability == 0 ||
               (dropout.sequence > 0 && dropout.first_row >= 0 &&
                dropout.first_row + num_rows <= dropout.samples.size() * dropout.sequence));
}

/// Does the same for a kernel that has no factor besides that of dropout.
inline void check_dropout_alone(const Dropout& dropout) {
    check_dropout(dropout);
    ZG_EXPECTS(dropout.factor == 1);
}
inline void check_dropout_alone(const Dropout& dropout, std::int64_t num_rows) {
    check_dropout(dropout, num_rows);
    ZG_EXPECTS(dropout.factor == 1);
}

}  // namespace ziggurat::kernels
