/// Inference with the weights of a checkpoint, in a layout for the available ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/stop_check.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "comm/context.hpp"
#include "data/batch_source.hpp"
#include "data/choice/choice_rows.hpp"
#include "device/device.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
#include "train/evaluation.hpp"
#include "train/generate/text_generator.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Number of ranks and threads that inference runs on.
struct InferenceRanks {
    int ranks = 1;
    int ranks_per_node = 1;
    int threads = 1;
};

/// Returns the run `trained` as a run that only evaluates on these ranks.
///
/// All ranks are on the data axis. Parameters are sharded over all of them if they were sharded at all. No
/// parameter is trained, so gradients and optimizer state do not exist. Model, number types and the home of
/// parameters stay.
///
/// Collective: local; pure
spec::RunSpec evaluating(const spec::RunSpec& trained,
                         const InferenceRanks& unchanged,
                         std::int64_t micro_batch);

/// Returns the run `trained` as a run that generates texts on these ranks.
///
/// It differs from evaluating(): the ranks of a node divide each layer (tensor axis), as far as the heads,
/// the MLP and the vocabulary of the model allow, and the rest divides the layers (stages). A forward of one
/// token then reads each weight once, on one rank.
///
/// \param prompt  tokens of the longest prompt
/// \param tokens  tokens to generate after each prompt
/// \param texts   number of texts; up to spec::max_texts_at_once are generated at the same time
/// Collective: local; pure
spec::RunSpec generating(const spec::RunSpec& trained,
                         const InferenceRanks& ranks,
                         std::int64_t prompt,
                         std::int64_t tokens,
                         std::int64_t texts = 1);

/// Returns the passes of TextGenerator::answer(), for a conversation of up to data.seq tokens.
///
/// \param run  made by generating()
spec::CachedPasses conversation_passes(const spec::RunSpec& run);

/// Evaluation-only state of a model: its parameters, the buffers of its passes, and their KV cache.
class Inference {
  public:
    /// Allocates the state. Parameters are zero until load().
    ///
    /// \param run  made by evaluating(); it and `world` must outlive this object
    /// Collective: over `world`, which has run.parallel.ranks ranks
    /// Errors:     Error{resource} if memory is short
    Inference(const spec::RunSpec& run, const comm::Context& world, const device::RankDevices& devices);

    /// Loads the checkpoint's weights into all tensors, rounded to the compute type as in training.
    ///
    /// Each rank reads only the parts that it holds.
    ///
    /// Collective: local; all ranks must call it and then agree on its errors
    /// Errors:     Error{checkpoint} if a tensor is missing, has another shape, or is corrupt;
    ///             Error{resource} if the disk fails
    void load(checkpoint::CheckpointReader& reader);

    /// Returns the loss over all samples of `source`.
    ///
    /// \param progress   counts the batches; nullptr: no progress is reported
    /// \param tokenizer  used to count bytes of text; nullptr: bytes are not counted
    /// \param stop       called before each forward pass
    /// Numerics:   an exact sum, the same on any layout for the same losses
    /// Collective: over all ranks
    /// Errors:     Stopped on all ranks
    ValidationLoss loss(data::BatchSource source,
                        Progress* progress = nullptr,
                        const data::TextTokenizer* tokenizer = nullptr,
                        const StopCheck& stop = {});

    /// Returns the log-probability of each row's ending; see train/generate/choice_scores.hpp.
    ///
    /// \param stop  called before each group of rows
    /// \pre run.cached is passes_of_choices(rows, run)
    /// Collective: over all ranks
    /// Errors:     Stopped on all ranks
    std::vector<double> scores(const data::ChoiceRows& rows,
                               Progress* progress = nullptr,
                               const StopCheck& stop = {});

    /// Generates `answers` texts after each prompt; see train/generate/text_generator.hpp.
    ///
    /// Answer 0 equals the text that training printed after settings.step for the same sample and run.seed.
    ///
    /// \pre the run is made by generating() for these prompts
    /// Collective: over all ranks
    GenerationTimes generate(const data::TextTokenizer& tokenizer,
                             const TextSettings& settings,
                             std::span<const TextPrompt> prompts,
                             std::int64_t answers,
                             const TextGenerator::OnText& on_text);

    /// Returns the result of `work` with a generator, for TextGenerator::answer().
    ///
    /// \pre run.cached is conversation_passes(run)
    /// Collective: over all ranks
    int converse(const data::TextTokenizer& tokenizer,
                 const TextSettings& settings,
                 const std::function<int(TextGenerator&)>& work);

    Assembly& assembly() noexcept { return assembly_; }

  private:
    /// Returns the result of `work`.
    ///
    /// Errors: those of `work`. With several ranks and asynchronous devices, a failing rank aborts the job
    template <class Pass>
    auto pass(const Pass& work);
    template <class Pass>
    auto stoppable(const StopCheck& stop, const Pass& run_pass);
    Evaluation evaluation(data::BatchSource source);

    const spec::RunSpec& run_;
    comm::Context world_;
    schedule::ModelLayout model_;
    device::RankDevices devices_;
    Assembly assembly_;
};

}  // namespace ziggurat::train
