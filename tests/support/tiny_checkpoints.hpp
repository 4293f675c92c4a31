/// Small trainings that save checkpoints and resume from them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/context.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/save/checkpointer.hpp"

namespace ziggurat::test {

/// A temporary folder visible to all ranks of a group, in memory if the machine has a file system
/// there.
///
/// So saves of these tests do not have to wait for a disk. It is deleted at the end.
class SharedFolder {
  public:
    /// Collective: over `group`
    explicit SharedFolder(const comm::Context& group);
    /// Collective: over the group
    ~SharedFolder();
    SharedFolder(const SharedFolder&) = delete;
    SharedFolder& operator=(const SharedFolder&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    comm::Context group_;
    std::string path_;
};

/// Result of a training with saves.
struct SavedOutcome {
    TinyOutcome training;                    ///< losses and norms of the steps of this job only
    std::int64_t steps_before = 0;           ///< steps of earlier jobs
    std::int64_t saved_step = -1;            ///< step of the newest checkpoint
    std::int64_t bytes_read = 0;             ///< read when resuming, by all ranks
    std::int64_t bytes_on_disk = 0;          ///< size of a checkpoint
    schedule::BytesByPurpose bytes_moved{};  ///< by this rank in the steps of this job
    std::string error;                       ///< error of a save that ended the training
};

/// Called after each step, before the ranks learn their agreement of that step.
using AfterStep = std::function<void(train::Checkpointer&, std::int64_t steps_done)>;

/// Same as train_tiny, but resumes by run.run.resume, and saves by run.checkpoint.
///
/// Ends after `last_step` with a checkpoint, as a run that is stopped.
///
/// Collective: over `group`, the ranks of `run`
SavedOutcome train_and_save(const spec::RunSpec& run,
                            const comm::Context& group,
                            Keep keep,
                            std::int64_t last_step,
                            const AfterStep& after_step = {});

}  // namespace ziggurat::test
