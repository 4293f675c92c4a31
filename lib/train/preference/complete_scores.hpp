/// Scores of the reference model that a run needs: those that an earlier job has kept, and new ones.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "comm/context.hpp"
#include "data/corpus.hpp"
#include "data/fingerprint.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
#include "train/preference/reference_scores.hpp"
#include "train/report/reporter.hpp"
#include "train/resume/resume.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// A run whose state is loaded, before its first step. Borrowed.
struct ScoredRun {
    const spec::RunSpec& spec;
    const comm::Context& world;
    const schedule::ModelLayout& model;
    Assembly& assembly;
    const data::Corpus& corpus;
    const data::DataOrderState& order;
    const Resumed& resumed;
    Reporter& reporter;
    std::int64_t first_sample = 0;  ///< of the steps that follow
    std::int64_t end_sample = 0;    ///< after the last sample of the run
};

/// With a preference objective, computes the scores of all pairs that the run needs and lacks.
///
/// Scores are taken from the run directory, where new ones are kept too. If the loaded weights are not those
/// of the reference, these are loaded and then replaced by the state of the run. Returns early if `stops`
/// returns true on all ranks; then scores may be unknown, and the run must not do a step.
///
/// \param files  of all sources; rank 0's count
/// Collective: over `world`
/// Errors:     those of load_reference_weights() and load_again()
void complete_scores(const ScoredRun& run,
                     std::span<const data::FileFingerprint> files,
                     const std::function<bool()>& stops,
                     ReferenceScores& scores);

}  // namespace ziggurat::train
