/// Differences between the deck of a checkpoint and the deck of the run that resumes from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "deck/schema/schema.hpp"

namespace ziggurat::checkpoint {

/// Effect of a deck difference on a resumed training.
enum class DeckChangeClass {
    refused,   ///< the stored tensors would have other shapes or another meaning
    warned,    ///< the training continues differently from here
    measured,  ///< may change samples, length or learning rate; the caller reports the effect in numbers
    noted,     ///< affects only distribution, reporting or paths: the training is the same
};

/// One key with two values.
struct DeckChange {
    std::string key;           ///< `model.hidden`, `data.train[1].path`
    std::string before;        ///< value in the checkpoint's deck; "nothing" if it does not have the key
    std::string after;         ///< value in the present deck
    std::string before_place;  ///< origin of the value: `deck decks/a.yaml:31`; may be empty
    std::string after_place;
    bool are_defaults = false;  ///< true if both values are defaults
    DeckChangeClass change_class = DeckChangeClass::noted;
    std::string from_here = {};  ///< for class `warned`: what the change affects
};

/// Returns every key whose value differs, in the order of the schema.
///
/// Both texts are effective decks: all keys written out, no includes, no variables. Compares values, not
/// their spelling. A key that one deck lacks (it comes from another version of the program) counts with its
/// default.
///
/// Errors: Error{checkpoint} if a text is not an effective deck of this program
std::vector<DeckChange> changes(const std::string& checkpoint_effective_deck,
                                const std::string& present_effective_deck);

/// Returns the class of a change of `row` in a model of `family`, from the schema column `on_resume`.
///
/// changes() lowers the class to `noted` if other keys make a key ineffective (train.spikes.z without
/// train.spikes.action).
/// \pre the row has a value
DeckChangeClass class_of(const deck::Row& row, std::string_view family);

/// Returns the refused changes as one error message, with both values and their origins; empty if none.
std::string refusal(const std::vector<DeckChange>& changes);

/// Returns one line for each warned change, with its effect.
std::vector<std::string> warnings(const std::vector<DeckChange>& changes);

/// Returns the noted changes as one line; empty if there are no such changes.
///
/// Omits changes of defaults that follow from the available ranks, such as budgets.
std::string note(const std::vector<DeckChange>& changes);

/// Returns `model.hidden is 64 (deck a.yaml:3) in the checkpoint and 128 (command line) now`.
std::string describe(const DeckChange& change);

}  // namespace ziggurat::checkpoint
