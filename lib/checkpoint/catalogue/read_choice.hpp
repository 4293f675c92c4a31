/// Choice of a checkpoint to read while a training may remove it.
#pragma once

#include <functional>
#include <string>

#include "base/error.hpp"
#include "checkpoint/checkpoint_reader.hpp"

namespace ziggurat::checkpoint {

/// Check that a checkpoint must pass to be chosen for a run.
enum class ReadCheck { sizes, hashes };  ///< choose(), choose_verified()

/// A named path and the checkpoint to read for it: that checkpoint, or the newest one of a run.
///
/// If a running training removes the checkpoint before it has been read, the next newest one is used.
/// Collective: local.
class CheckpointSelector {
  public:
    /// \param named  a run's folder, its `ckpt` folder, or one checkpoint
    /// \param note   called with one line for each checkpoint that was skipped or removed
    CheckpointSelector(std::string named, ReadCheck check, std::function<void(const std::string&)> note);

    /// Opens the checkpoint and keeps its files open.
    ///
    /// Errors: those of choose(); Error{checkpoint} if files are missing or have another size. If the
    ///         checkpoint was removed, the errors of select_next()
    CheckpointReader open();

    /// Call after reading `failed` has failed. Returns true if it was removed or replaced meanwhile: then
    /// open() returns the next newest one. Returns false if the original error stands.
    ///
    /// Errors: Error{checkpoint} if the checkpoint itself was named, or if a training removes checkpoints
    ///         faster than they are read
    bool select_next(const CheckpointReader& failed);

  private:
    void expect_another(const std::string& removed);

    std::string named_;
    ReadCheck check_;
    std::function<void(const std::string&)> note_;
    int removals_ = 0;
};

/// Calls `use` with the checkpoint; repeats with the next newest one if it is removed meanwhile.
///
/// Errors: those of CheckpointSelector and of `use`
void read_during_training(const std::string& named,
                          ReadCheck check,
                          const std::function<void(const std::string&)>& note,
                          const std::function<void(CheckpointReader&)>& use);

/// Returns the error about a checkpoint that was named itself and was removed while it was read.
Error removed_meanwhile(const std::string& path);

}  // namespace ziggurat::checkpoint
