/// Choice of the checkpoint that a run resumes from, as rank 0 sees the folders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// The checkpoints that run.resume allows, one after another, the best first.
///
/// A run that has had checkpoints, by its LATEST or DONE, and has none any more is not begun afresh unless
/// run.resume says so. Collective: local; rank 0 has one
class ResumeChoice {
  public:
    /// Errors: Error{checkpoint} when one is needed, or was there, and there is none that verifies;
    /// Error{deck} when going on from an older checkpoint would mix two trainings in one folder
    explicit ResumeChoice(const spec::RunSpec& spec);

    /// The folder to try; nothing: the run begins afresh.
    const std::optional<std::string>& path() const noexcept { return path_; }
    /// It lies in run.dir.
    bool is_own() const noexcept { return is_own_; }
    /// run.resume names one elsewhere, and path() is of run.dir: the same command was started before.
    bool is_instead_of_named() const noexcept { return is_instead_of_named_; }
    /// Notes for people: what was passed over and why.
    const std::vector<std::string>& notes() const noexcept { return notes_; }
    /// The same as one warning, with the steps that are trained again, where a later checkpoint was saved
    /// than path(); empty where none was.
    std::string loss() const;

    /// Opens what is at path(), its files held; nothing where the run begins afresh. One that its training
    /// removes meanwhile gives way to the next newest.
    ///
    /// Errors: those of CheckpointReader and look_again()
    std::optional<checkpoint::CheckpointReader> open();

    /// Moves on to the next older one, as this one cannot be read after all, or to the newest where `failed`,
    /// as open() has given it, was removed meanwhile.
    ///
    /// Errors: Error{checkpoint} when there is none, or what was removed was named itself
    void pass_over(const checkpoint::CheckpointReader& failed, const std::string& why);

  private:
    void look_again();
    void choose_newest(const std::string& root, bool is_needed);
    void choose_named(const spec::RunSpec& spec, const std::string& root);
    void take(const checkpoint::FoundCheckpoint& found);
    std::string listed_notes() const;

    std::string root_;  ///< where older ones lie; empty: this one or none
    std::optional<std::string> path_;
    bool is_own_ = true;
    bool is_instead_of_named_ = false;
    std::int64_t saved_step_ = -1;  ///< the highest that a checkpoint was seen of, whatever it is worth
    int removals_ = 0;
    std::vector<std::string> notes_;
};

}  // namespace ziggurat::train
