/// Settings of number types, of the optimizer and of the learning rate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/dtype.hpp"

namespace ziggurat::spec {

/// Choice among the algorithms of a GPU's library for matrix products.
enum class ProductChoice {
    first,     ///< the first of the library's list
    measured,  ///< the fastest, measured at the start of the run; also with the gradient of a gated unit
    fused,     ///< the first, and of a product with the gradient of a gated unit the first of cuDNN
};

/// Order of sums in attention's backward pass, where cuDNN computes it.
enum class AttentionBackward {
    deterministic,  ///< one order: two runs have the same bits
    fast,           ///< the order may change from call to call
};

struct Precision {
    DType compute = DType::f32;
    DType master = DType::f32;
    DType gradient = DType::f32;
    DType reduce = DType::f32;
    ProductChoice products = ProductChoice::first;
    AttentionBackward attention_backward = AttentionBackward::deterministic;

    bool operator==(const Precision&) const = default;
};

/// Norm by which gradients are clipped.
enum class ClipPolicy {
    off,
    global,         ///< of the whole gradient of the step
    previous_norm,  ///< of the whole gradient of the last step with an update; the first step is not clipped
    per_unit,       ///< of the unit's gradient of the step: each unit is clipped by its own norm
};

struct Optimizer {
    double lr = 3e-4;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double weight_decay = 0.1;
    std::vector<std::string> no_decay;  ///< patterns of tensors without decay; 1-d tensors never have it
    ClipPolicy clip = ClipPolicy::global;
    double clip_norm = 1.0;

    bool operator==(const Optimizer&) const = default;
};

enum class ScheduleKind { constant, linear, cosine, warmup_stable_decay };

/// Effect on the schedule if a run resumes with a different end.
enum class WhenExtended {
    rescale,  ///< the schedule ends with the run
    restart,  ///< a new schedule covers the steps up to the end of the run
    hold      ///< the schedule ends as originally planned; its last learning rate is kept
};

struct LearningRate {
    ScheduleKind kind = ScheduleKind::cosine;
    std::int64_t warmup_steps = 0;
    bool is_warmup_in_tokens = false;  ///< the deck gives tokens, or a share of a run measured in tokens
    WhenExtended when_extended = WhenExtended::rescale;
    std::int64_t decay_steps = 0;  ///< warmup_stable_decay: length of the decay phase
    double final_fraction = 0.1;

    bool operator==(const LearningRate&) const = default;
};

}  // namespace ziggurat::spec
