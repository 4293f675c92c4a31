/// Checkpoints of a training in a test's own process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checkpoint/manifest.hpp"
#include "comm/context.hpp"
#include "spec/run_spec.hpp"
#include "train/report/console.hpp"
#include "train/report/reporter.hpp"
#include "train/save/checkpointer.hpp"
#include "train/step/assembly.hpp"
#include "train/trainer.hpp"

namespace ziggurat::test {

/// Saves what an assembly trains as run.checkpoint says, and goes on from where run.resume says.
///
/// Collective: all, over the ranks of the run
class Saving {
  public:
    Saving(const spec::RunSpec& run, const comm::Context& group, train::Assembly& assembly);

    /// What was done before.
    const checkpoint::TrainingProgress& before() const noexcept { return before_; }
    void after_step(const checkpoint::TrainingProgress& progress);
    /// What is under way ends, and the last step is saved.
    void finish(const checkpoint::TrainingProgress& progress);

  private:
    train::RunContext context_{.version = "test", .libraries = "", .command = "", .effective_deck = ""};
    train::Console console_{train::Console::quiet};
    train::Reporter reporter_;
    train::Account account_;
    train::Assembly& assembly_;
    checkpoint::TrainingProgress before_;
    std::optional<train::Checkpointer> checkpointer_;
};

/// Where a run leaves the checkpoint of a step.
std::string checkpoint_folder(const spec::RunSpec& run, std::int64_t step);

}  // namespace ziggurat::test
