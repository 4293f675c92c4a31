/// Evaluation of a model in training: its loss on validation data, and a sample of its text.
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
    std::optional<double> mean = {};         ///< nats per target token; nothing where there are none
    std::int64_t tokens = 0;                 ///< target tokens
    std::int64_t bytes = 0;                  ///< of text that they stand for; 0 where no tokenizer was given
    std::vector<SourceLoss> by_source = {};  ///< of several validation sources; empty: there is one
};

/// What decides on a text besides its number of tokens.
struct TextLimits {
    std::int64_t top_k = 0;              ///< see Drawing
    double top_p = 1;                    ///< see Drawing
    std::vector<std::string> ends = {};  ///< the text ends before the first of these
};

/// Runs the evaluation program of an assembly.
class Evaluation {
  public:
    /// \param model  of this rank; outlives this
    Evaluation(const spec::RunSpec& spec,
               data::BatchSource validation,
               const comm::Context& world,
               const schedule::ModelLayout& model,
               Assembly& assembly);

    /// False where the deck names nothing to validate on.
    bool has_samples() const { return validation_.num_samples() > 0; }

    /// Asked before each pass of the model: whether all ranks leave off. Collective: over all ranks
    using Stops = std::function<bool()>;

    /// The loss over all validation samples; nothing when it was left off.
    ///
    /// \param progress   told of batches; null: nobody waits for them
    /// \param tokenizer  by which bytes of text are counted; null: they are not
    /// Numerics:   an exact sum, the same on any layout for the same losses
    /// Collective: over all ranks, each doing its share of the samples
    std::optional<ValidationLoss> validate(const Stops& stops = {},
                                           Progress* progress = nullptr,
                                           const data::TextTokenizer* tokenizer = nullptr);

    /// Text that follows `sample.prompt`, token by token. The window holds data.seq tokens; older ones are
    /// forgotten. A prompt of no tokens is the document token, else a line's end. Nothing when it was left
    /// off.
    ///
    /// Numerics:   random numbers by Philox from the seed, the step and the token's place: the same on all
    /// ranks Collective: over all ranks
    std::optional<std::string> generate(const data::TextTokenizer& tokenizer,
                                        const spec::Sample& sample,
                                        std::int64_t step,
                                        const TextLimits& limits = {},
                                        const Stops& stops = {});

  private:
    /// What this rank has of one source.
    struct SourceSums {
        ExactSum losses;
        std::int64_t targets = 0;
    };

    /// Adds the losses of the micro-batch that was evaluated, each sample's to those of its source.
    void add_rows(std::vector<SourceSums>& sums) const;
    /// Sums of all ranks, and their means. Collective: over all ranks
    ValidationLoss loss_of(const std::vector<SourceSums>& sums, std::int64_t bytes) const;
    /// Bytes of text that the targets of the batch that count stand for.
    std::int64_t target_bytes(const data::TextTokenizer& tokenizer) const;
    /// One of the first `tokens`: a model may have rows that its tokenizer has no token for.
    std::int32_t draw(const Drawing& drawing, std::int64_t tokens, std::int64_t step, std::int64_t place);

    const spec::RunSpec& spec_;
    data::BatchSource validation_;
    comm::Context world_;
    const schedule::ModelLayout& model_;
    Assembly& assembly_;
    data::Batch batch_;
    std::vector<double> weights_;  ///< of the tokens to draw from
};

}  // namespace ziggurat::train
