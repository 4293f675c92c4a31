/// Effective decks in run folders, from which runs resume.
#pragma once

#include <string>
#include <string_view>

#include "deck/messages/diagnostics.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// File name of the effective deck that a run writes into its folder.
inline constexpr std::string_view record_name = "deck.effective.yaml";

/// Returns the deck file for `path`.
///
/// For the folder of a run it is the record in it; for other paths file_or_shipped(). Returns an empty
/// string, after an error, for a folder without a record.
std::string find_deck(const std::string& path, Diagnostics& found);

bool is_record(const std::string& file);

/// Sets run.dir of `values`, read from the record `file`, to the folder of that file.
///
/// The run may have been copied or moved. An override on the command line is kept. Returns true, after a
/// note, if run.dir was different.
bool move_to_folder_of(const std::string& file, Values& values, Diagnostics& found);

/// Changes run.resume of recorded `values` from never to auto.
///
/// A user who names an existing run intends to resume it. Overrides of run.resume or run.dir on the command
/// line are kept. Returns true, after a note, if it was changed.
bool allow_resume(Values& values, Diagnostics& found);

}  // namespace ziggurat::deck
