/// The checkpoint that `sample` and `eval` look at, the same on all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/read_choice.hpp"
#include "comm/context.hpp"
#include "deck/load.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "train/inference.hpp"

namespace ziggurat::app {

struct TrainedModel {
    checkpoint::ReadChoice& choice;       ///< that gave it, on rank 0
    checkpoint::CheckpointReader reader;  ///< holds its files, until the weights are loaded
    spec::RunSpec run = {};               ///< as it was trained
    spec::MachineSpec machine = {};       ///< this one
    train::RanksAtHand here = {};         ///< the ranks of this job

    const std::string& path() const noexcept { return reader.path(); }
    std::int64_t step() const noexcept { return reader.manifest().progress.step; }
};

/// Calls `use` with the newest checkpoint of `folder` that verifies, or the one that it is, as rank 0 finds
/// it for all. What was passed over is noted on standard error. Where `use` gives nothing, the checkpoint was
/// removed by its training while it was being read, and `use` is called with the next newest.
///
/// Returns what `use` gives, an exit code; another, alike on all ranks, after rank 0 has said why there is no
/// checkpoint to use.
///
/// Collective: over `world`
/// Errors:     Error{checkpoint} when the deck in it is none of this version
int with_trained_model(const std::string& folder,
                       const comm::Context& world,
                       const std::function<std::optional<int>(TrainedModel&)>& use);

/// Calls `work`, which reads the checkpoint, on each rank for itself. False, alike on all of them, when it
/// has failed because the checkpoint was removed meanwhile, and there is another.
///
/// Collective: over `world`
/// Errors:     on all ranks alike: those of `work`; Error{checkpoint} when the one that was removed was named
///             itself
bool has_read(TrainedModel& model, const comm::Context& world, const std::function<void()>& work);

/// Prints a note on standard error.
void print_note(const std::string& note);

/// The deck that a checkpoint at `path` keeps, of the model that its tensors are of.
/// Errors: Error{checkpoint} when it is no deck of this version, or of another model
deck::LoadedDeck load_deck_of(const checkpoint::Manifest& manifest, const std::string& path);

/// Whether `check`, on rank 0 alone, throws no Error. One that it throws is printed there, and its exit code
/// is set on all ranks.
///
/// Collective: over `world`
bool is_agreed(const comm::Context& world, int& exit_code, const std::function<void()>& check);

}  // namespace ziggurat::app
