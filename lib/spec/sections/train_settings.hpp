/// Settings of the training: steps, batches, objective, validation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/sections/run_settings.hpp"

namespace ziggurat::spec {

/// Reaction to a step whose loss or gradient norm is far above those of preceding steps.
enum class SpikeAction {
    off,       ///< spikes are not detected
    warn,      ///< a warning is printed
    skip,      ///< the update is not applied
    roll_back  ///< the run returns to the newest checkpoint and skips samples up to and including the spike
};

struct Spikes {
    SpikeAction action = SpikeAction::off;
    std::int64_t window = 128;  ///< number of preceding steps in the statistics
    double z = 6;               ///< threshold in standard deviations above the mean

    bool operator==(const Spikes&) const = default;
};

/// Average of the weights over the steps, a state of its own.
///
/// Exponential: average <- decay * average + (1 - decay) * weights after each update.
struct Average {
    double decay = 0;       ///< 0: no average
    std::int64_t from = 0;  ///< number of updates after which the average begins as a copy of the weights

    bool is_on() const noexcept { return decay > 0; }
    bool operator==(const Average&) const = default;
};

/// Loss that training minimizes.
///
/// Source: Rafailov et al., "Direct Preference Optimization", 2023, equation 7; Azar et al., "A General
///         Theoretical Paradigm to Understand Learning from Human Preferences", 2023, equation 17 (IPO)
enum class ObjectiveKind {
    next_token,  ///< cross-entropy of the next token
    dpo,         ///< -log sigmoid(beta * margin) of pairs of answers
    ipo          ///< (margin - 1 / (2 beta))^2 of pairs of answers, with log-probabilities per token
};

/// Model whose log-probabilities a preference objective compares with those of the trained model.
enum class ReferenceKind {
    start,         ///< the initial weights of the run
    adapters_off,  ///< the initial weights without adapters
    path           ///< the weights of a checkpoint, a run or a Hugging Face model
};

struct Objective {
    ObjectiveKind kind = ObjectiveKind::next_token;
    double beta = 0.1;
    double label_smoothing = 0;  ///< dpo: assumed share of pairs whose answers are swapped
    ReferenceKind reference = ReferenceKind::start;
    std::string reference_path = {};      ///< for path
    bool is_reference_published = false;  ///< true if reference_path is a folder in the Hugging Face format

    /// Returns true if samples are pairs of answers.
    bool has_pairs() const noexcept { return kind != ObjectiveKind::next_token; }
    bool operator==(const Objective&) const = default;
};

/// Early stopping by the validation loss.
struct StopWhen {
    std::int64_t patience = 0;  ///< consecutive validations without improvement that end the run; 0: off
    double min_delta = 0;       ///< minimum decrease of the loss that counts as improvement, nats per token
    std::optional<double> validation_loss = {};  ///< a loss of at most this value ends the run

    bool is_asked() const { return patience > 0 || validation_loss.has_value(); }
    bool operator==(const StopWhen&) const = default;
};

/// Order in which a rank runs the micro-batches of a step.
///
/// The sums of gradients over micro-batches keep their order. A tied table that is summed in place over the
/// step is the exception: its parts from the head and from the lookup are added in another order.
///
/// Source: GreedySnake, 2025 (arXiv 2512.17570): vertical scheduling
enum class AccumulationOrder {
    by_micro_batch,  ///< all units of a micro-batch, then the next micro-batch
    by_layer         ///< all micro-batches of a unit, then the next unit, which reads its parameters one time
};

struct Train {
    /// With `tokens`: number of steps if the batch size stays the same from the first step on.
    std::int64_t steps = 0;
    std::int64_t tokens = 0;         ///< the run ends after this number of tokens; 0: after `steps`
    std::int64_t global_batch = 0;   ///< sequences per optimizer step
    std::int64_t micro_batch = 0;    ///< sequences per rank, forward and backward
    std::int64_t micro_batches = 0;  ///< per step and rank: global_batch / (micro_batch x data degree)
    AccumulationOrder accumulate = AccumulationOrder::by_micro_batch;  ///< by_layer: one stage only
    /// Patterns of trained tensors; empty: all; with model.lora the adapters.
    std::vector<std::string> only;
    Objective objective = {};
    Spikes spikes = {};
    StopWhen stop_when = {};
    Average average = {};

    /// Returns true if the order differs from that by micro-batch; with one micro-batch there is one order.
    bool is_by_layer() const noexcept {
        return accumulate == AccumulationOrder::by_layer && micro_batches > 1;
    }

    bool operator==(const Train&) const = default;
};

struct Sample {
    std::string prompt;
    std::int64_t tokens = 0;
    double temperature = 0.8;
    bool is_chat = false;  ///< the prompt is a user's message, which the chat template renders

    bool operator==(const Sample&) const = default;
};

/// Weights that validations measure.
enum class ValidatedWeights {
    raw,
    average,  ///< train.average
    both      ///< both; the best checkpoint and early stopping follow the average
};

struct Validate {
    std::optional<Interval> every;
    std::int64_t batches = 0;  ///< validation samples in global batches, evenly spaced; 0: all of them
    std::optional<Sample> sample;
    ValidatedWeights weights = ValidatedWeights::raw;

    bool operator==(const Validate&) const = default;
};

}  // namespace ziggurat::spec
