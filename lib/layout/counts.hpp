/// Sizes of a run in closed form: parameters, floating-point operations, bytes of model state.
///
/// Derived from the units of the model's family: one layer stands for all of them, so that `check` says it in
/// no time at any size.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/state_kinds.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Numbers that a model has; rows that only pad the vocabulary do not count.
struct ParameterCount {
    std::int64_t embedding = 0;  ///< token table and, where positions are learned, position table
    std::int64_t layer = 0;      ///< one decoder layer
    std::int64_t layers = 0;     ///< all of them
    std::int64_t head = 0;       ///< last norm and, unless tied, the product with the vocabulary
    std::int64_t total = 0;

    bool operator==(const ParameterCount&) const = default;
};

ParameterCount count_parameters(const spec::Model& model);

/// Numbers in tensors that the run trains; a tied table counts once.
std::int64_t count_trained(const spec::RunSpec& run);

/// Formula behind flops_per_token, for the line that shows it.
const char* flops_formula(const spec::RunSpec& run);

/// Floating-point operations of training on one token: forward and backward, recomputation not counted.
///
/// Source: Kaplan et al., "Scaling Laws for Neural Language Models", 2020, section 2.1, with the causal half
/// of attention: 6 per weight of a product, plus 6 layers x (heads x head_dim) x seq. E are the parameters
/// that are only looked up: position table, and token table unless it is the head's too. Of the 6, 2 are
/// forward's, 2 those of the gradient of the input, which nothing below the first trained tensor needs, and 2
/// those of the gradient of the weight, which a frozen one does not have; of attention's 6, backward has 4.
double flops_per_token(const spec::RunSpec& run);

/// What each unit has of them, in order of use.
std::vector<double> flops_per_token_by_unit(const spec::RunSpec& run);

/// Bytes of model state by group of its kinds.
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

/// Model state of one rank, spread evenly over the shard degrees of its kinds and over tensor ranks and
/// stages; padding not counted. The compiled program's memory table is the exact one.
StateBytes count_state_bytes(const spec::RunSpec& run);

}  // namespace ziggurat::layout
