/// Choices of the program in the record of a run, taken back where they do not hold any more.
#pragma once

#include <string>

#include "deck/document/node.hpp"
#include "deck/messages/diagnostics.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// Opens in `root`, the tree of the record `text`, what the program chose itself, so that it is chosen anew:
/// run.time_limit, as the job that it was for is over; and where parallel.data was auto for another number of
/// ranks, all that was auto, and all defaults that became numbers. What a deck or a command line says stays.
/// True, after a note, where the ranks are not as many as they were.
///
/// \param ranks  that go on; 0: as many as recorded
bool reopen_choices(const Schema& schema, Node& root, const std::string& text, int ranks, Diagnostics& found);

/// Gives `values`, once they are resolved, the origins that the record `file` with that `text` tells, where
/// they are as it says: so that what the program chose is known as such when the run goes on again.
void keep_origins(Values& values, const std::string& file, const std::string& text);

}  // namespace ziggurat::deck
