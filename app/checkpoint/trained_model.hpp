/// Checkpoint that `sample` and `eval` use, the same on all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/checkpoint/checkpoint_options.hpp"
#include "base/stop_check.hpp"
#include "checkpoint/catalogue/read_choice.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "comm/context.hpp"
#include "deck/load.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "train/inference.hpp"

namespace ziggurat::app {

struct TrainedModel {
    checkpoint::CheckpointSelector& choice;  ///< source of the checkpoint; used on rank 0
    checkpoint::CheckpointReader reader;     ///< keeps its files open until the weights are loaded
    spec::RunSpec run = {};                  ///< run as it was trained
    spec::MachineSpec machine = {};          ///< this machine
    train::InferenceRanks here = {};         ///< ranks of this job
    StopCheck stop = {};                     ///< ends the work with it

    const std::string& path() const noexcept { return reader.path(); }
    std::int64_t step() const noexcept { return reader.manifest().progress.step; }
};

/// Calls `use` with the newest valid checkpoint of a run, or with options.folder if it is a checkpoint.
///
/// Rank 0 chooses it for all ranks and prints a note for each checkpoint that it skips. If `use` returns
/// empty, the training has removed the checkpoint during the read, and `use` is called with the next newest.
///
/// Returns the exit code that `use` returns. If no checkpoint can be used, rank 0 prints the reason and all
/// ranks return the same exit code.
///
/// \param stop  becomes TrainedModel::stop
/// Collective: over `world`
/// Errors:     Error{checkpoint} if this version cannot read the deck in the checkpoint
int with_trained_model(const ModelChoice& options,
                       const comm::Context& world,
                       const std::function<std::optional<int>(TrainedModel&)>& use,
                       const StopCheck& stop = {});

/// Calls `work`, which reads the checkpoint on each rank. Returns the same value on all ranks.
///
/// Returns false if the checkpoint was removed during the read and another one exists.
///
/// Collective: over `world`
/// Errors:     the same on all ranks: those of `work`; Error{checkpoint} if the removed checkpoint was given
///             by its own path
bool has_read(TrainedModel& model, const comm::Context& world, const std::function<void()>& work);

/// Prints a note on standard error.
void print_note(const std::string& note);

/// Loads the deck that the checkpoint at `path` contains.
/// Errors: Error{checkpoint} if this version cannot read it, or it does not match the checkpoint's tensors
deck::LoadedDeck load_deck_of(const checkpoint::Manifest& manifest, const std::string& path);

/// Calls `check` on rank 0. Returns true, on all ranks, if it throws no Error.
///
/// Otherwise rank 0 prints the error, and its exit code is set on all ranks. The same holds for Stopped.
///
/// Collective: over `world`
bool is_agreed(const comm::Context& world, int& exit_code, const std::function<void()>& check);

}  // namespace ziggurat::app
