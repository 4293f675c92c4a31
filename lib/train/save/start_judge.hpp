/// Judgement of what a run begins with, before any of it is loaded.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/manifest.hpp"
#include "spec/run_spec.hpp"
#include "train/save/resume_choice.hpp"
#include "train/save/resumed_data.hpp"

namespace ziggurat::train {

/// What a run is about to do.
struct Intent {
    const spec::RunSpec& spec;
    const std::string& deck;   ///< the effective one; empty: differences are not looked for
    const TrainingData& data;  ///< an order that is not known: it is not compared with that of the checkpoint
};

struct StartNews {
    std::vector<std::string> warnings;  ///< work is lost, or the training is another one
    std::vector<std::string> notes;
};

/// A checkpoint as the start of a run.
struct JudgedStart {
    checkpoint::Manifest manifest;  ///< with the order of the samples that follow
    bool is_finished = false;       ///< nothing is left to do
    StartNews news;
};

/// Judges what `choice` has opened.
///
/// Errors: Error{deck} when the deck asks for another model than that of the checkpoint, or training files
///         have changed, or run.resume names one that the run in run.dir did not begin with
JudgedStart judge_resume(const Intent& intent,
                         const ResumeChoice& choice,
                         const checkpoint::CheckpointReader& chosen);

/// Judges a checkpoint of another run, whose weights this one begins with.
///
/// Errors: Error{deck} when they are those of another model, or mean something else with this deck
StartNews judge_weights(const Intent& intent, const checkpoint::CheckpointReader& chosen);

/// Judges a published model by the headers of its files, and a second copy of a tied embedding by its values.
///
/// Errors: those of checkpoint::hf::PublishedWeights
StartNews judge_published_weights(const Intent& intent);

}  // namespace ziggurat::train
