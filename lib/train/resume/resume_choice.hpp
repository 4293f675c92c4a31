/// Selection of the checkpoint that a run resumes from, as rank 0 reads the folders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// Checkpoints that run.resume allows, one after another, the best one first.
///
/// A run that has lost all its checkpoints (lost_checkpoints.hpp) starts from scratch only with
/// run.resume=never. Collective: local; only rank 0 has an object
class ResumeChoice {
  public:
    /// Errors: Error{resource} if the folder of checkpoints is missing, or is a link to a missing one;
    /// Error{checkpoint} if one is needed, or existed before, and no checkpoint verifies;
    /// Error{deck} if resuming from an older checkpoint would mix two trainings in one folder
    explicit ResumeChoice(const spec::RunSpec& spec);

    /// Returns the folder to try; nullopt if the run starts from scratch.
    const std::optional<std::string>& path() const noexcept { return path_; }
    /// Returns true if path() is in run.dir.
    bool is_own() const noexcept { return is_own_; }
    /// Returns true if run.resume names a checkpoint outside of run.dir, but path() is in run.dir.
    ///
    /// This means that the same command was started before.
    bool is_instead_of_named() const noexcept { return is_instead_of_named_; }
    /// Returns human-readable notes: the skipped checkpoints, with the reasons.
    const std::vector<std::string>& notes() const noexcept { return notes_; }
    /// Returns a warning if a later checkpoint than path() was saved; otherwise an empty string.
    ///
    /// The warning contains the number of steps that are trained again, and notes().
    std::string loss() const;

    /// Opens the checkpoint at path() and its files; returns nullopt if the run starts from scratch.
    ///
    /// If another training removes this checkpoint in the meantime, the next newest one is opened.
    ///
    /// Errors: those of CheckpointReader and look_again()
    std::optional<checkpoint::CheckpointReader> open();

    /// Skips `failed`, which open() has returned, because it cannot be read.
    ///
    /// The next older checkpoint is selected; if `failed` was removed in the meantime, the newest one.
    ///
    /// Errors: Error{checkpoint} if no checkpoint is left, or if a removed one was named itself
    void skip_checkpoint(const checkpoint::CheckpointReader& failed, const std::string& reason);

  private:
    void look_again();
    void choose_newest(const std::string& root, bool is_needed);
    void choose_named(const spec::RunSpec& spec, const std::string& root);
    void take(const checkpoint::FoundCheckpoint& found);
    std::string listed_notes() const;

    std::string root_;  ///< folder of older checkpoints; empty: only path() is allowed
    std::optional<std::string> path_;
    bool is_own_ = true;
    bool is_instead_of_named_ = false;
    std::int64_t saved_step_ = -1;  ///< highest step of any checkpoint found, valid or not
    int removals_ = 0;
    std::vector<std::string> notes_;
};

}  // namespace ziggurat::train
