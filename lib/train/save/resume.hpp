/// Resume of a run from a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "comm/context.hpp"
#include "spec/run_spec.hpp"
#include "train/save/resumed_data.hpp"
#include "train/step/held_state.hpp"

namespace ziggurat::train {

class Reporter;

struct Resumed {
    std::string path;     ///< of the checkpoint; empty: the run begins afresh
    bool is_own = false;  ///< it lies in run.dir
    bool lacks_adapters =
        false;  ///< weights are those of another run or model, which brings none for this one
    std::string weights_from = {};     ///< afresh: the checkpoint that the weights are of; empty: none
    bool has_weights_of_base = false;  ///< they are, adapters aside, those of the published model that the
                                       ///< checkpoint's run began with
    checkpoint::TrainingProgress progress;
    std::int64_t bytes_read = 0;  ///< by all ranks

    bool is_afresh() const noexcept { return path.empty(); }
};

/// Finds what run.resume asks for, and loads it: the newest checkpoint of run.dir that verifies and can be
/// read, or the one that was named (where run.dir has none of its own yet). Tells which, and what was passed
/// over or differs from its deck. Rank 0 decides for all.
///
/// \param deck  the effective deck; empty: differences are not looked for
/// \param data  on rank 0: what is trained on, its files for_manifest(); an order that is not known: it is
/// not
///              compared with that of the checkpoint
/// Collective: over `world`
/// Errors:     on all ranks alike: Error{checkpoint} when there is none that can be used where one is needed;
///             Error{deck} when the deck asks for another model, or training files have changed;
///             Error{resource} when a disk fails
Resumed resume(const spec::RunSpec& spec,
               const std::string& deck,
               const comm::Context& world,
               const HeldState& state,
               Reporter& reporter,
               const TrainingData& data = {});

}  // namespace ziggurat::train
