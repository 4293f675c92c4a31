/// AdamW in double precision, with its bias corrections written out.
#pragma once

#include <cmath>

namespace ziggurat::reference {

struct AdamWState {
    double weight = 0;
    double m = 0;
    double v = 0;
};

/// Returns the state after update number `t`, from 1.
inline AdamWState adamw(AdamWState state,
                        double gradient,
                        int t,
                        double learning_rate,
                        double beta1,
                        double beta2,
                        double epsilon,
                        double weight_decay) {
    state.m = beta1 * state.m + (1 - beta1) * gradient;
    state.v = beta2 * state.v + (1 - beta2) * gradient * gradient;
    const double m_hat = state.m / (1 - std::pow(beta1, t));
    const double v_hat = state.v / (1 - std::pow(beta2, t));
    state.weight -= learning_rate * (m_hat / (std::sqrt(v_hat) + epsilon) + weight_decay * state.weight);
    return state;
}

}  // namespace ziggurat::reference
