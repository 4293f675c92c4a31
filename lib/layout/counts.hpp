/// Sizes of a run in closed form: parameters, floating-point operations, bytes of model state.
///
/// Derived from the units of the model's family. One layer represents all layers, except for the number of
/// keys in its window, so `check` takes no noticeable time at any model size.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/state_kinds.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Numbers of parameters in a model; rows that only pad the vocabulary do not count.
struct ParameterCount {
    std::int64_t embedding = 0;  ///< token table and, if positions are learned, position table
    std::int64_t layer = 0;      ///< one decoder layer
    std::int64_t layers = 0;     ///< all decoder layers
    std::int64_t head = 0;       ///< last norm and, unless tied, the output projection
    std::int64_t total = 0;

    bool operator==(const ParameterCount&) const = default;
};

ParameterCount count_parameters(const spec::Model& model);

/// Returns the number of trained parameters of the run; a tied table counts once.
std::int64_t count_trained(const spec::RunSpec& run);

/// Returns the formula of flops_per_token as text, for display.
const char* flops_formula(const spec::RunSpec& run);

/// Returns the flops per training token: forward and backward without recomputation.
///
/// Source: Kaplan et al., "Scaling Laws for Neural Language Models", 2020, section 2.1, with the causal half
/// of attention: 6 per weight of a product, plus 6 layers x (heads x head_dim) x seq. E are the parameters
/// that are only looked up: the position table, and the token table unless the head shares it. Of the 6
/// operations per weight, 2 are for forward, 2 for the gradient of the input and 2 for the gradient of the
/// weight. The gradient of the input is not computed below the first trained tensor. Frozen weights have no
/// gradient. Of attention's 6, backward needs 4.
///
/// If layers have a window, attention's term is 12 (heads x head_dim) x K. K is the mean number of keys of a
/// query, summed over the layers: mean_keys() with a window, seq / 2 without one.
double flops_per_token(const spec::RunSpec& run);

/// Returns the flops per token of each unit, in order of use.
std::vector<double> flops_per_token_by_unit(const spec::RunSpec& run);

/// Bytes of model state for each group of state kinds.
struct StateBytes {
    std::int64_t parameters = 0;
    std::int64_t gradients = 0;
    std::int64_t optimizer = 0;

    std::int64_t& of(StateGroup group) {
        switch (group) {
            case StateGroup::parameters:
                return parameters;
            case StateGroup::gradients:
                return gradients;
            case StateGroup::optimizer:
                break;
        }
        return optimizer;
    }
    std::int64_t total() const { return parameters + gradients + optimizer; }

    bool operator==(const StateBytes&) const = default;
};

/// Returns the model state of one rank.
///
/// This is an even share of each kind by shard degree, tensor ranks and stages. Padding is not counted.
/// The memory table of the compiled program has the exact numbers.
StateBytes count_state_bytes(const spec::RunSpec& run);

}  // namespace ziggurat::layout
