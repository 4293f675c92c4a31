/// Check of the arguments of kernels that drop values.
#pragma once

#include <cstdint>

#include "base/contract.hpp"
#include "kernels/step_inputs.hpp"

namespace ziggurat::kernels {

/// Errors: Error{internal} when the probability is none, or something is to be dropped and it is not said
/// where
inline void check_dropout(const Dropout& dropout) {
    ZG_EXPECTS(dropout.probability >= 0 && dropout.probability < 1);
    ZG_EXPECTS(dropout.probability == 0 || (!dropout.inputs.empty() && !dropout.samples.empty()));
}

/// The same of a kernel whose `num_rows` rows are tokens: all of them are of a sample.
inline void check_dropout(const Dropout& dropout, std::int64_t num_rows) {
    check_dropout(dropout);
    ZG_EXPECTS(dropout.probability == 0 ||
               (dropout.sequence > 0 && dropout.first_row >= 0 &&
                dropout.first_row + num_rows <= dropout.samples.size() * dropout.sequence));
}

}  // namespace ziggurat::kernels
