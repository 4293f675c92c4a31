/// class_b_difference: comparison of two trainings that may differ only in the order of sums.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/norm_gap.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::test {

/// Maximum relative differences caused by the order of sums in fp32.
struct ClassBBounds {
    double gradient = 1e-5;  ///< first step, relative to the norm of its tensor
    double norm = 1e-4;      ///< all gradients, every step
    double loss = 1e-5;      ///< every step
    double weights = 1e-4;   ///< final weights, relative to the norm of all
};

/// Returns the distance of each gradient of the first step, relative to the norm of its tensor.
///
/// \pre both were trained with Keep::tensors
inline std::map<std::string, double> first_gradient_gaps(const TinyOutcome& ours, const TinyOutcome& alone) {
    struct Values {
        const std::vector<float>& values;
    };
    std::map<std::string, Values> expected;
    for (const auto& [name, values] : alone.gradients) {
        expected.emplace(name, Values{values});
    }
    return gradient_gaps(ours.gradients, expected);
}

/// Describes the differences above the bounds; empty if there are no such differences.
///
/// \pre both were trained with Keep::tensors
inline std::string class_b_difference(const TinyOutcome& ours,
                                      const TinyOutcome& alone,
                                      const ClassBBounds& bounds = {}) {
    for (const auto& [name, gap] : first_gradient_gaps(ours, alone)) {
        if (!(gap <= bounds.gradient)) {
            return fmt::format("the first gradient of {} is {} of its norm away", name, gap);
        }
    }
    if (ours.losses.size() != alone.losses.size()) {
        return "another number of steps";
    }
    for (std::size_t step = 0; step < ours.losses.size(); ++step) {
        const auto gap = std::abs(ours.losses[step] / alone.losses[step] - 1);
        if (!(gap <= bounds.loss)) {
            return fmt::format("the loss of step {} is {} of it away", step + 1, gap);
        }
    }
    for (std::size_t step = 0; step < ours.norms.size(); ++step) {
        const auto gap = std::abs(ours.norms[step] / alone.norms[step] - 1);
        if (!(gap <= bounds.norm)) {
            return fmt::format("the norm of the gradients of step {} is {} of it away", step + 1, gap);
        }
    }
    SquaredGap all;
    std::pair<double, std::string> worst;
    for (const auto& [name, values] : alone.weights) {
        if (!is_key_bias(name)) {
            const auto gap = squared_gap(ours.weights.at(name), values);
            worst = std::max(worst, {gap.difference, name});
            all += gap;
        }
    }
    return all.relative() <= bounds.weights
               ? std::string{}
               : fmt::format("the weights are {} of their norm away, most of all those of {}", all.relative(),
                             worst.second);
}

/// Fails the running test if there is such a difference.
inline void expect_class_b(const TinyOutcome& ours, const TinyOutcome& alone) {
    EXPECT_EQ(class_b_difference(ours, alone), "");
}

}  // namespace ziggurat::test
