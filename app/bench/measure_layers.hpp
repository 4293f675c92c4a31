/// Measurement of the ops of small models in training steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/bench/bench_ranks.hpp"
#include "plan/calibrate/op_rates.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Size of the models that are trained for a measurement.
enum class SampleSize {
    tiny,      ///< kernels have almost no work
    brief,     ///< a step takes milliseconds
    realistic  ///< layers as wide as those of small models; on GPUs as those of large ones
};

/// Returns the names of two families whose phases together have every kind of kernel that plans time.
std::vector<std::string> sample_families();

/// Returns a run of `launch`'s ranks that trains two layers of a family.
///
/// \param launch  BenchRanks::launch()
spec::RunSpec sample_run(const spec::RunSpec& launch, const std::string& family, SampleSize size);

/// Seconds of each op of a model's training step (lower quartile), on the slowest rank.
struct TimedModel {
    spec::RunSpec run;
    schedule::Program program;
    std::unique_ptr<schedule::ModelLayout> layout;
    /// By op of the compute lane, with its dispatch by the executor; 0 for other lanes.
    std::vector<double> seconds = {};
    double step_seconds = 0;  ///< of a whole step

    plan::TimedProgram timed() const { return {program, run, *layout, seconds}; }
};

/// Trains `run` for some steps on random tokens, all ranks at once.
///
/// Collective: over the ranks
TimedModel measure_layers(BenchRanks& ranks, const spec::RunSpec& run);

}  // namespace ziggurat::app
