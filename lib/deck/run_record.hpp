/// Effective decks in the folders of runs: what a run goes on with.
#pragma once

#include <string>
#include <string_view>

#include "deck/messages/diagnostics.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// Name of the effective deck that a run writes into its folder.
inline constexpr std::string_view record_name = "deck.effective.yaml";

/// The file of the deck that `path` names. Of the folder of a run it is the record in it; of anything else
/// file_or_shipped(). Empty, after a complaint, for a folder without a record.
std::string find_deck(const std::string& path, Diagnostics& found);

bool is_record(const std::string& file);

/// Makes run.dir of `values`, those of the record `file`, the folder that it lies in, unless the command line
/// sets it: the run may have been copied or moved. True, after a note, where it was another.
bool move_to_folder_of(const std::string& file, Values& values, Diagnostics& found);

/// Makes run.resume of `values`, those of a record, auto where it was never: who names a run that has begun
/// means it to go on. The command line decides, also by another run.dir. True, after a note, where it was.
bool let_go_on(Values& values, Diagnostics& found);

}  // namespace ziggurat::deck
