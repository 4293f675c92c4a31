/// Checkpoints of model.init and of the reference in an effective deck.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::checkpoint {

inline constexpr std::string_view init_key = "model.init.path";
inline constexpr std::string_view reference_key = "train.objective.reference";

/// Returns the path that `key` of an effective deck names, for this process; empty if it names none.
std::string input_path(const std::string& effective_deck, std::string_view key);

/// Returns `effective_deck` in which `key` names the checkpoint `path`.
///
/// \param path  absolute, or relative to the current folder
std::string with_input(const std::string& effective_deck, std::string_view key, const std::string& path);

/// Returns the effective deck `present` with the checkpoints that the run of `recorded` began with.
///
/// A key is changed if `present` names a run, its `ckpt` folder or its best checkpoint, and `recorded` names
/// a checkpoint of that run. Which checkpoint such a folder stands for changes when the run is trained on.
/// A deck that cannot be read is returned unchanged.
std::string with_recorded_inputs(const std::string& recorded, const std::string& present);

}  // namespace ziggurat::checkpoint
