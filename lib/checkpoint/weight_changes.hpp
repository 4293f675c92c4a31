/// Differences between two decks that give the weights of a checkpoint another meaning.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::checkpoint {

/// Judgement of a run that starts with the weights of a checkpoint of another run.
struct WeightChanges {
    std::string refusal;  ///< message of an error, with all values and their origins; empty: none
    std::vector<std::string> warnings;
    std::vector<std::string> notes;
};

/// Compares shapes, positions, norms and tokenizer of the deck of a checkpoint with those of a run that
/// starts with its weights. Keys that the run's model.init.accept_change names may differ, with a warning.
/// \param checkpoint_effective_deck, run_effective_deck  as of changes()
///
/// Errors: those of changes()
WeightChanges weight_changes(const std::string& checkpoint_effective_deck,
                             const std::string& run_effective_deck,
                             const std::string& path);

}  // namespace ziggurat::checkpoint
