/// Inference with the weights of a checkpoint, in a layout for the ranks at hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"
#include "comm/context.hpp"
#include "data/batch_source.hpp"
#include "data/choice/choice_sequences.hpp"
#include "device/device.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
#include "train/evaluation.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Ranks and threads that inference runs on.
struct RanksAtHand {
    int ranks = 1;
    int ranks_per_node = 1;
    int threads = 1;
};

/// The run `trained` as one that evaluates on these ranks: all of them on the data axis, parameters cut over
/// all of them if they were cut at all. Nothing is trained, so that there are neither gradients nor optimizer
/// state; model, number types and the home of parameters stay.
///
/// Collective: local; pure
spec::RunSpec evaluating(const spec::RunSpec& trained, const RanksAtHand& here, std::int64_t micro_batch);

/// Holds parameters and what a forward pass needs, no more.
class Inference {
  public:
    /// Parameters are zero until load().
    ///
    /// \param run  made by evaluating(); it and `world` must outlive this
    /// Collective: over `world`, which has run.parallel.ranks ranks
    /// Errors:     Error{resource} when memory is short
    Inference(const spec::RunSpec& run, const comm::Context& world, const device::Processors& processors);

    /// Gives all tensors the checkpoint's weights, rounded to the compute type as training does. Each rank
    /// reads what it holds, no more.
    ///
    /// Collective: local; all ranks have to call it, and to agree on its errors
    /// Errors:     Error{checkpoint} when a tensor is missing, has another shape, or is damaged;
    ///             Error{resource} when the disk fails
    void load(checkpoint::CheckpointReader& reader);

    /// The loss over all samples of `source`.
    ///
    /// \param progress   told of batches; null: nobody waits for them
    /// \param tokenizer  by which bytes of text are counted; null: they are not
    /// Numerics:   an exact sum, the same on any layout for the same losses
    /// Collective: over all ranks
    ValidationLoss loss(data::BatchSource source,
                        Progress* progress = nullptr,
                        const data::TextTokenizer* tokenizer = nullptr);

    /// The log-probability of each row's ending; see train/choice_scores.hpp.
    ///
    /// \param sequences  of the run's data.seq, which has data.reset_at_document
    /// Collective: over all ranks
    std::vector<double> scores(const data::ChoiceSequences& sequences, Progress* progress = nullptr);

    /// Text that follows `sample.prompt`; what training has printed after `step`, for the same sample and
    /// run.seed.
    ///
    /// Collective: over all ranks
    std::string generate(const data::TextTokenizer& tokenizer,
                         const spec::Sample& sample,
                         std::int64_t step,
                         const TextLimits& limits = {});

    Assembly& assembly() noexcept { return assembly_; }

  private:
    /// What `work` gives. Errors: its own; of several ranks with late devices, the one that fails ends the
    /// job at once
    template <class Pass>
    auto pass(const Pass& work);
    Evaluation evaluation(data::BatchSource source);

    const spec::RunSpec& run_;
    comm::Context world_;
    schedule::ModelLayout model_;
    device::Processors processors_;
    Assembly assembly_;
};

}  // namespace ziggurat::train
