/// Checkpoints of a training in a test's own process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checkpoint/manifest.hpp"
#include "comm/context.hpp"
#include "spec/run_spec.hpp"
#include "train/console/console.hpp"
#include "train/report/reporter.hpp"
#include "train/save/checkpointer.hpp"
#include "train/step/assembly.hpp"
#include "train/trainer.hpp"

namespace ziggurat::test {

/// Saves an assembly's state according to run.checkpoint, and resumes according to run.resume.
///
/// Collective: all, over the ranks of the run
class Saving {
  public:
    Saving(const spec::RunSpec& run, const comm::Context& group, train::Assembly& assembly);

    /// Returns the progress at the start.
    const checkpoint::TrainingProgress& before() const noexcept { return before_; }
    void after_step(const checkpoint::TrainingProgress& progress);
    /// Finishes the save in progress, and saves the last step.
    void finish(const checkpoint::TrainingProgress& progress);

  private:
    train::RunContext context_{.version = "test", .libraries = "", .command = "", .effective_deck = ""};
    train::Console console_{train::Console::quiet};
    train::Reporter reporter_;
    train::TimeAccounting account_;
    train::Assembly& assembly_;
    checkpoint::TrainingProgress before_;
    std::optional<train::Checkpointer> checkpointer_;
};

/// Returns the folder of a run's checkpoint of a step.
std::string checkpoint_folder(const spec::RunSpec& run, std::int64_t step);

}  // namespace ziggurat::test
