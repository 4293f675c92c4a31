/// Folder of a run's checkpoints: `ckpt` in the run directory. It stays valid if that is renamed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint_folder.hpp"
#include "comm/context.hpp"
#include "storage/directory_handle.hpp"

namespace ziggurat::train {

class Reporter;

class CheckpointDirectory {
  public:
    /// Result of the preparation of a save, which rank 0 broadcasts.
    struct SaveReadiness {
        bool is_renewed = false;  ///< the run directory had been removed, with all checkpoints in it
        std::string reason;       ///< the reason why the save cannot start; empty if it can
    };

    CheckpointDirectory(std::string run_dir, const comm::Context& world, Reporter& reporter);

    /// Returns this rank's path to the run directory (see storage::DirectoryHandle).
    const std::string& fd_path() const noexcept { return folder_.fd_path(); }
    std::string root() const { return folder_.fd_path() + "/ckpt"; }
    /// Returns the folder of a step while its checkpoint is not complete.
    std::string folder_of(std::int64_t step) const;
    /// Returns `text` with the user's path instead of the path of the handle.
    std::string with_display_path(std::string_view text) const { return folder_.with_display_path(text); }

    /// Creates the folder of a step; on rank 0 also `commit`. Recreates a run directory that was removed.
    ///
    /// Afterwards all ranks have the same directory open as rank 0.
    ///
    /// Collective: over all ranks
    SaveReadiness prepare(std::int64_t step,
                          std::int64_t needed_bytes,
                          std::optional<checkpoint::Commit>& commit);

    /// Returns the newest step up to `saved_step` whose checkpoint still exists; -1 without one.
    ///
    /// Users may have removed checkpoints. It reads the folder, so one rank is enough.
    std::int64_t newest_remaining(std::int64_t saved_step) const;

  private:
    SaveReadiness make(std::int64_t step,
                       std::int64_t needed_bytes,
                       std::optional<checkpoint::Commit>& commit);
    /// Calls make() and registers the wait, so that the hang detector can report it.
    SaveReadiness make_watched(std::int64_t step,
                               std::int64_t needed_bytes,
                               std::optional<checkpoint::Commit>& commit);
    void reopen(bool is_renewed);

    std::string run_dir_;
    comm::Context world_;
    Reporter& reporter_;
    storage::DirectoryHandle folder_;
};

}  // namespace ziggurat::train
