/// add_losses: losses on the host, summed without kernels.
#pragma once

#include <span>

#include "base/exact_sum.hpp"

namespace ziggurat::train {

/// Adds the losses to `into` exactly: the bits do not depend on the split into batches and ranks.
inline void add_losses(std::span<const float> losses, ExactSum& into) {
    for (const float loss : losses) {
        into.add(static_cast<double>(loss));
    }
}

}  // namespace ziggurat::train
