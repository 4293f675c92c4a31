/// Differences between the deck of a checkpoint and the deck that is to go on from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "deck/schema/schema.hpp"

namespace ziggurat::checkpoint {

/// Meaning of a difference for a training that goes on.
enum class DeckChangeClass {
    refused,   ///< the stored tensors would have other shapes, or mean something else
    warned,    ///< the training goes on differently from here
    measured,  ///< samples, length or learning rate may be others, which who knows both tells in figures
    noted,     ///< how the work is spread, what is reported, where things lie: the training is the same
};

/// One key with two values.
struct DeckChange {
    std::string key;           ///< `model.hidden`, `data.train[1].path`
    std::string before;        ///< as the checkpoint's deck says it; "nothing" where it does not have the key
    std::string after;         ///< as the present deck says it
    std::string before_place;  ///< where the value came from: `deck decks/a.yaml:31`; may be empty
    std::string after_place;
    bool are_defaults = false;  ///< both are
    DeckChangeClass change_class = DeckChangeClass::noted;
    std::string from_here = {};  ///< of a warned one: what it changes
};

/// Every key whose value differs, in the order of the schema. Both are effective decks: all keys written
/// out, no includes, no variables. Values are compared, not their spelling; a key that one of them does not
/// know (another version of the program wrote it) counts with its default.
///
/// Errors: Error{checkpoint} when a text is no effective deck of this program
std::vector<DeckChange> changes(const std::string& checkpoint_effective_deck,
                                const std::string& present_effective_deck);

/// The class of a change of `row`, by its column of the schema, in a model of that family; but a key that
/// means nothing beside the values of others (train.spikes.z without train.spikes.action) is but noted.
/// \pre the row has a value
DeckChangeClass class_of(const deck::Row& row, std::string_view family);

/// The refused changes as the message of one error, with both values and where they come from; empty when
/// there is none.
std::string refusal(const std::vector<DeckChange>& changes);

/// A line for each warned change, which says what it changes.
std::vector<std::string> warnings(const std::vector<DeckChange>& changes);

/// The noted changes in one line, without those of defaults that follow from the ranks at hand, such as
/// budgets; empty when there is none.
std::string note(const std::vector<DeckChange>& changes);

/// `model.hidden is 64 (deck a.yaml:3) in the checkpoint and 128 (command line) now`.
std::string describe(const DeckChange& change);

}  // namespace ziggurat::checkpoint
