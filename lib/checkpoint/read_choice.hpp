/// Choice of a checkpoint to read, beside a training that may remove it meanwhile.
#pragma once

#include <functional>
#include <string>

#include "base/error.hpp"
#include "checkpoint/checkpoint_reader.hpp"

namespace ziggurat::checkpoint {

/// The check that a checkpoint has to pass to be chosen where a run was named.
enum class ReadCheck { sizes, hashes };  ///< choose(), choose_verified()

/// What was named, and what is read of it: the checkpoint itself, or the newest of a run, and, where its
/// training removes that before it has been read, the next newest. Collective: local.
class ReadChoice {
  public:
    /// \param named  a run's folder, its `ckpt` folder, or one checkpoint
    /// \param note   told what was passed over, and what was removed: lines for people
    ReadChoice(std::string named, ReadCheck check, std::function<void(const std::string&)> note);

    /// The checkpoint, its files held.
    ///
    /// Errors: those of choose(); Error{checkpoint} when files are missing or have another size; both as
    ///         gives_another() where it was removed
    CheckpointReader open();

    /// Asked when reading what open() gave has failed: true when that was removed meanwhile, or another was
    /// put in its place, and open() gives the next newest. False when the error is what it says.
    ///
    /// Errors: Error{checkpoint} where it was named itself, or a training removes them faster than they are
    /// read
    bool gives_another(const CheckpointReader& failed);

  private:
    void expect_another(const std::string& removed);

    std::string named_;
    ReadCheck check_;
    std::function<void(const std::string&)> note_;
    int removals_ = 0;
};

/// Calls `use` with the checkpoint, once more with each next one while they are removed before it is done.
///
/// Errors: those of ReadChoice and of `use`
void read_beside_training(const std::string& named,
                          ReadCheck check,
                          const std::function<void(const std::string&)>& note,
                          const std::function<void(CheckpointReader&)>& use);

/// The error about a checkpoint that was named itself and is removed while it is read.
Error removed_meanwhile(const std::string& path);

}  // namespace ziggurat::checkpoint
