/// Folder of a run's checkpoints: `ckpt` in the run's folder, even if that is renamed meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint_folder.hpp"
#include "comm/context.hpp"
#include "storage/held_folder.hpp"

namespace ziggurat::train {

class Reporter;

class CheckpointPlace {
  public:
    /// Words of rank 0 to all before a save.
    struct Ready {
        bool is_renewed = false;  ///< the run's folder had been removed, with all checkpoints in it
        std::string trouble;      ///< the reason why the save cannot be begun, else nothing
    };

    CheckpointPlace(std::string run_dir, const comm::Context& world, Reporter& reporter);

    /// This rank's way into the run's folder.
    const std::string& way() const noexcept { return folder_.way(); }
    std::string root() const { return folder_.way() + "/ckpt"; }
    /// The unfinished folder of a step.
    std::string folder_of(std::int64_t step) const;
    /// `text` with names in the place of ways, for people.
    std::string said(std::string_view text) const { return folder_.said(text); }

    /// Makes the folder of a step, on rank 0 alone into `commit`; a run's folder that is gone is made anew.
    /// All ranks hold then what rank 0 holds.
    ///
    /// Collective: over all ranks
    Ready prepare(std::int64_t step, std::int64_t needed_bytes, std::optional<checkpoint::Commit>& commit);

    /// The newest step up to `saved_step` that is still there, as somebody may have removed some; -1: none.
    /// Reads the folder: one rank is enough.
    std::int64_t newest_left(std::int64_t saved_step) const;

  private:
    Ready make(std::int64_t step, std::int64_t needed_bytes, std::optional<checkpoint::Commit>& commit);
    /// The same; whoever watches for hangs sees what is waited for.
    Ready make_watched(std::int64_t step,
                       std::int64_t needed_bytes,
                       std::optional<checkpoint::Commit>& commit);
    void hold_anew(bool is_renewed);

    std::string run_dir_;
    comm::Context world_;
    Reporter& reporter_;
    storage::HeldFolder folder_;
};

}  // namespace ziggurat::train
