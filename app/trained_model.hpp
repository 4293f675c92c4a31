/// The checkpoint that `sample` and `eval` look at, the same on all ranks.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "checkpoint/manifest.hpp"
#include "comm/context.hpp"
#include "deck/load.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "train/inference.hpp"

namespace ziggurat::app {

struct TrainedModel {
    std::string path;
    checkpoint::Manifest manifest;
    spec::RunSpec run;          ///< as it was trained
    spec::MachineSpec machine;  ///< this one
    train::RanksAtHand here;    ///< the ranks of this job
};

/// Rank 0 finds the newest checkpoint of `folder` that verifies, or takes the one that it is, and tells the
/// others. What was passed over is noted on standard error.
///
/// Collective: over `world`
/// Errors:     nothing, after rank 0 has said why and `exit_code` is set, alike on all ranks;
/// Error{checkpoint}
///             when the deck in it is none of this version
std::optional<TrainedModel> find_trained_model(const std::string& folder,
                                               const comm::Context& world,
                                               int& exit_code);

/// The deck that a checkpoint at `path` keeps, of the model that its tensors are of.
/// Errors: Error{checkpoint} when it is no deck of this version, or of another model
deck::LoadedDeck load_deck_of(const checkpoint::Manifest& manifest, const std::string& path);

/// Whether `check`, on rank 0 alone, throws no Error. One that it throws is printed there, and its exit code
/// is set on all ranks.
///
/// Collective: over `world`
bool is_agreed(const comm::Context& world, int& exit_code, const std::function<void()>& check);

}  // namespace ziggurat::app
