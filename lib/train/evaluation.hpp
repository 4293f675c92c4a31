/// Evaluation of a model in training: its loss on validation data, and a generated sample of text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/progress.hpp"
#include "comm/context.hpp"
#include "data/batch.hpp"
#include "data/batch_source.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
#include "train/account/step_report.hpp"
#include "train/draw_token.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

struct ValidationLoss {
    std::optional<double> mean = {};         ///< nats per target token; empty without target tokens
    std::int64_t tokens = 0;                 ///< target tokens
    std::int64_t bytes = 0;                  ///< text bytes of the target tokens; 0 without a tokenizer
    std::vector<SourceLoss> by_source = {};  ///< loss of each validation source; empty: only one source
};

/// Sampling and stop parameters of a generated text, besides its number of tokens.
struct TextLimits {
    std::int64_t top_k = 0;              ///< see Drawing
    double top_p = 1;                    ///< see Drawing
    std::vector<std::string> ends = {};  ///< stop strings: the text ends before the first of them
};

/// Runs the evaluation program of an assembly.
class Evaluation {
  public:
    /// \param model  layout of this rank; outlives this object
    Evaluation(const spec::RunSpec& spec,
               data::BatchSource validation,
               const comm::Context& world,
               const schedule::ModelLayout& model,
               Assembly& assembly);

    /// Returns false if the deck has no validation data.
    bool has_samples() const { return validation_.num_samples() > 0; }

    /// Predicate that is evaluated before each forward pass; it returns true on all ranks to cancel.
    ///
    /// Collective: over all ranks
    using Stops = std::function<bool()>;

    /// Returns the loss over all validation samples; nullopt if `stops` cancelled it.
    ///
    /// \param progress   counts the batches; nullptr: no progress is reported
    /// \param tokenizer  used to count bytes of text; nullptr: bytes are not counted
    /// Numerics:   an exact sum, the same on any layout for the same losses
    /// Collective: over all ranks; each rank evaluates its share of the samples
    std::optional<ValidationLoss> validate(const Stops& stops = {},
                                           Progress* progress = nullptr,
                                           const data::TextTokenizer* tokenizer = nullptr);

    /// Generates the text that follows `sample.prompt`, token by token; nullopt if `stops` cancelled it.
    ///
    /// The context window holds data.seq tokens; older tokens are dropped. An empty prompt is replaced by the
    /// document token, or by a newline if the tokenizer has no document token.
    ///
    /// Numerics:   Philox random numbers from the seed, the step and the token's index: the same on all ranks
    /// Collective: over all ranks
    std::optional<std::string> generate(const data::TextTokenizer& tokenizer,
                                        const spec::Sample& sample,
                                        std::int64_t step,
                                        const TextLimits& limits = {},
                                        const Stops& stops = {});

  private:
    /// Sums of this rank for one source.
    struct SourceSums {
        ExactSum losses;
        std::int64_t targets = 0;
    };

    /// Adds the losses of the evaluated micro-batch: those of each sample to the sums of its source.
    void add_rows(std::vector<SourceSums>& sums) const;
    /// Returns the sums over all ranks and their means. Collective: over all ranks
    ValidationLoss loss_of(const std::vector<SourceSums>& sums, std::int64_t bytes) const;
    /// Returns the number of text bytes of the unmasked targets of the batch.
    std::int64_t target_bytes(const data::TextTokenizer& tokenizer) const;
    /// Samples one of the first `tokens`. A model may have more rows than its tokenizer has tokens.
    std::int32_t draw(const Drawing& drawing, std::int64_t tokens, std::int64_t step, std::int64_t position);

    const spec::RunSpec& spec_;
    data::BatchSource validation_;
    comm::Context world_;
    const schedule::ModelLayout& model_;
    Assembly& assembly_;
    data::Batch batch_;
    std::vector<double> weights_;  ///< sampling weights of the candidate tokens
};

}  // namespace ziggurat::train
