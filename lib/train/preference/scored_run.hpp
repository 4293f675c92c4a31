/// ScoredRun: a run for whose pairs the reference model computes scores.
#pragma once

#include <cstdint>

#include "comm/context.hpp"
#include "data/corpus.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
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

}  // namespace ziggurat::train
