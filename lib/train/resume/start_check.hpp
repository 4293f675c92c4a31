/// Checks of the state that a run starts from, before it is loaded.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/manifest.hpp"
#include "spec/run_spec.hpp"
#include "train/resume/resume_choice.hpp"
#include "train/save/resumed_data.hpp"

namespace ziggurat::train {

/// Request to start a run: its spec, deck and data.
struct StartRequest {
    const spec::RunSpec& spec;
    const std::string& deck;   ///< effective deck; empty: it is not compared with the checkpoint's deck
    const TrainingData& data;  ///< an unknown order is not compared with the order of the checkpoint
};

struct StartReport {
    std::vector<std::string> warnings;  ///< lost work, or changes of the training
    std::vector<std::string> notes;
};

/// A checkpoint as the start of a run.
struct StartCheck {
    checkpoint::Manifest manifest;  ///< with the order of the samples that follow
    bool is_finished = false;       ///< all steps of the run are done
    std::string deck = {};          ///< of StartRequest, with the inputs that the run began with
    StartReport report;
};

/// Checks the checkpoint that `choice` has opened.
///
/// Errors: Error{deck} if the model of the deck differs from that of the checkpoint, if training files have
///         changed, or if run.resume names a checkpoint that the run in run.dir did not start from
StartCheck check_resume(const StartRequest& intent,
                        const ResumeChoice& choice,
                        const checkpoint::CheckpointReader& chosen);

/// Checks a checkpoint of another run whose weights this run starts from.
///
/// Errors: Error{deck} if the weights belong to another model, or if this deck interprets them differently
StartReport check_weights(const StartRequest& intent, const checkpoint::CheckpointReader& chosen);

/// Checks a Hugging Face model by the headers of its files.
///
/// A second copy of a tied embedding is checked by its values.
///
/// Errors: those of checkpoint::hf::HfWeights
StartReport check_hf_weights(const StartRequest& intent);

}  // namespace ziggurat::train
