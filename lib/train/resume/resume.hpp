/// Resume of a run from a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/stop_check.hpp"
#include "checkpoint/manifest.hpp"
#include "comm/context.hpp"
#include "spec/run_spec.hpp"
#include "train/save/resumed_data.hpp"
#include "train/step/state_view.hpp"

namespace ziggurat::train {

class Reporter;

struct Resumed {
    std::string path;     ///< path of the checkpoint; empty: the run starts from scratch
    bool is_own = false;  ///< the checkpoint is in run.dir
    /// The weights come from another run or model that has no adapters for this run.
    bool lacks_adapters = false;
    /// Checkpoint that the initial weights of the run come from.
    ///
    /// Empty if they come from a Hugging Face model, are random, or the deck was not given.
    std::string weights_from = {};
    std::string reference_from = {};  ///< checkpoint of train.objective.reference; empty: it names none
    std::string deck = {};  ///< effective deck that names these checkpoints; empty if it was not given
    /// Apart from adapters, the weights are those of the Hugging Face model that the checkpoint's run started
    /// from.
    bool has_weights_of_base = false;
    checkpoint::TrainingProgress progress;
    std::int64_t bytes_read = 0;  ///< sum over all ranks

    bool is_from_scratch() const noexcept { return path.empty(); }
};

/// Loads the weights of model.init, as resume() does for a run that starts from scratch.
///
/// Random weights are left to the caller (Assembly::set_initial_values).
///
/// \param first  first words of the message about the weights, such as `begins with`
/// \param stop   called for each block that is read
/// Collective: over `world`
/// Errors:     those of resume()
Resumed begin_from_scratch(const spec::RunSpec& spec,
                           const std::string& deck,
                           const comm::Context& world,
                           const StateView& state,
                           Reporter& reporter,
                           std::string_view first = "begins with",
                           const StopCheck& stop = {});

/// Loads the state again that resume() has returned, after other weights were loaded into it.
///
/// Collective: over `world`
/// Errors:     those of resume()
void load_again(const spec::RunSpec& spec,
                const Resumed& resumed,
                const comm::Context& world,
                const StateView& state,
                Reporter& reporter,
                const StopCheck& stop = {});

/// Selects the checkpoint that run.resume specifies, and loads it.
///
/// This is the newest checkpoint of run.dir that verifies and can be read. If run.dir has no checkpoint yet,
/// it is the one that run.resume names. Prints the selected checkpoint, the skipped ones, and differences
/// from its deck. Rank 0 decides for all ranks.
///
/// \param deck  the effective deck; empty: it is not compared with the checkpoint's deck
/// \param data  on rank 0: the training data; its files must come from for_manifest(). An unknown order is
///              not compared with the order of the checkpoint
/// \param stop  called for each block that is read
/// Collective: over `world`
/// Errors:     on all ranks: Error{checkpoint} if a checkpoint is needed and none can be used;
///             Error{deck} if the deck specifies another model, or if training files have changed;
///             Error{resource} if a disk fails; Stopped
Resumed resume(const spec::RunSpec& spec,
               const std::string& deck,
               const comm::Context& world,
               const StateView& state,
               Reporter& reporter,
               const TrainingData& data = {},
               const StopCheck& stop = {});

}  // namespace ziggurat::train
