/// Deck differences that change the meaning of a checkpoint's weights.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::checkpoint {

/// Result of the check of a run that starts with the weights of another run's checkpoint.
struct WeightChanges {
    std::string refusal;  ///< error message with all values and their origins; empty if compatible
    std::vector<std::string> warnings;
    std::vector<std::string> notes;
};

/// Compares a checkpoint's deck with the deck of a run that starts with its weights.
///
/// The comparison covers shapes, positions, norms and tokenizer. Keys listed in the run's
/// model.init.accept_change may differ, with a warning.
/// \param checkpoint_effective_deck, run_effective_deck  as for changes()
///
/// Errors: those of changes()
WeightChanges weight_changes(const std::string& checkpoint_effective_deck,
                             const std::string& run_effective_deck,
                             const std::string& path);

}  // namespace ziggurat::checkpoint
