/// Small trainings that save themselves and go on from what was saved.
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

/// A folder that all ranks of a group see, in memory where the machine has such a place: saves of these
/// tests need not wait for a disk. Gone afterwards.
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

/// What a training that saves leaves behind.
struct SavedOutcome {
    TinyOutcome training;                    ///< losses and norms of the steps of this job alone
    std::int64_t steps_before = 0;           ///< of earlier jobs
    std::int64_t saved_step = -1;            ///< of the newest checkpoint
    std::int64_t bytes_read = 0;             ///< on resuming, by all ranks
    std::int64_t bytes_on_disk = 0;          ///< of a checkpoint
    schedule::BytesByPurpose bytes_moved{};  ///< by this rank in the steps of this job
    std::string error;                       ///< of a save that ended the training
};

/// Called after each step, before anybody learns what ranks have agreed on in it.
using AfterStep = std::function<void(train::Checkpointer&, std::int64_t steps_done)>;

/// As train_tiny, but goes on as run.run.resume says, saves as run.checkpoint says, and ends after
/// `last_step` as a run does that is asked to stop: with a checkpoint.
///
/// Collective: over `group`, the ranks of `run`
SavedOutcome train_and_save(const spec::RunSpec& run,
                            const comm::Context& group,
                            Keep keep,
                            std::int64_t last_step,
                            const AfterStep& after_step = {});

}  // namespace ziggurat::test
