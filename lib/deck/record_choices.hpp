/// Reset of recorded automatic choices that no longer apply.
#pragma once

#include <string>

#include "deck/document/node.hpp"
#include "deck/messages/diagnostics.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// Resets automatic choices in `root`, the tree of the record `text`, so that they are made again.
///
/// Always resets run.time_limit, because its job has ended, and the threads and budgets of memory that follow
/// from the node, because the run may continue on another one. If parallel.data was auto for another number
/// of ranks, resets everything that was auto, and all defaults that became numbers. Values set by decks or
/// command lines are kept. Returns true, after a note, if the number of ranks differs.
///
/// \param ranks  number of ranks that resume; 0: the recorded number
bool reopen_choices(const Schema& schema, Node& root, const std::string& text, int ranks, Diagnostics& found);

/// Restores the recorded origins of resolved `values` that are unchanged.
///
/// So automatic choices are recognized as such when the run resumes again. `file` is the record, `text` its
/// content.
void keep_origins(Values& values, const std::string& file, const std::string& text);

}  // namespace ziggurat::deck
