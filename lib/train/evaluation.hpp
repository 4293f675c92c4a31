/// Evaluation of a model: its loss on validation data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/progress.hpp"
#include "comm/context.hpp"
#include "data/batch_source.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "kernels/element/preference_element.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
#include "train/account/step_report.hpp"
#include "train/data_loader.hpp"
#include "train/preference/pair_losses.hpp"
#include "train/step/assembly.hpp"
#include "train/step/loss_sum.hpp"

namespace ziggurat::train {

struct ValidationLoss {
    /// Nats per target token, or the loss per pair of a preference objective; empty without them.
    std::optional<double> mean = {};
    std::int64_t tokens = 0;                 ///< target tokens; with a preference objective, pairs
    std::optional<RewardSums> rewards = {};  ///< with a preference objective
    std::int64_t bytes = 0;                  ///< text bytes of the target tokens; 0 without a tokenizer
    std::vector<SourceLoss> by_source = {};  ///< loss of each validation source; empty: only one source
};

/// Runs the evaluation program of an assembly.
class Evaluation {
  public:
    /// \param model       layout of this rank; outlives this object
    /// \param references  with a preference objective: log-probabilities of the reference model, by number of
    ///                    pair; those of the validation samples must be known at validate()
    Evaluation(const spec::RunSpec& spec,
               data::BatchSource validation,
               const comm::Context& world,
               const schedule::ModelLayout& model,
               Assembly& assembly,
               std::span<const kernels::AnswerSums> references = {});

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

  private:
    /// Sums of this rank for one source.
    struct SourceSums {
        ExactSum losses;
        std::int64_t targets = 0;  ///< or pairs
    };

    /// Adds the losses of the evaluated micro-batch: those of each sample to the sums of its source.
    void add_rows(std::vector<SourceSums>& sums) const;
    /// Adds the losses and rewards of the pairs of the evaluated micro-batch.
    void add_pairs(std::vector<SourceSums>& sums, ExactRewards& rewards) const;
    /// Returns the sums over all ranks and their means. Collective: over all ranks
    ValidationLoss loss_of(const std::vector<SourceSums>& sums,
                           const ExactRewards& rewards,
                           std::int64_t bytes) const;
    /// Returns the number of text bytes of the unmasked targets of the batch.
    std::int64_t target_bytes(const data::TextTokenizer& tokenizer) const;

    const spec::RunSpec& spec_;
    data::BatchSource validation_;
    comm::Context world_;
    const schedule::ModelLayout& model_;
    Assembly& assembly_;
    RankBatch batch_;
    PairLosses losses_;  ///< of the evaluated micro-batch
    std::span<const kernels::AnswerSums> references_;
};

}  // namespace ziggurat::train
