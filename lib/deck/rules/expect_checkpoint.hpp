/// Check of a path in a deck that names a checkpoint or a run; only rules_*.cpp includes it.
#pragma once

#include <string>

#include "deck/rules/rules.hpp"

namespace ziggurat::deck {

/// Reports an error if `path` is not a complete checkpoint or a run with one.
///
/// A plan that needs no data gets only a note if the path does not exist.
///
/// \param use  use of the checkpoint in the message, such as `resume from`
void expect_a_checkpoint(
    const Resolution& at, const char* key, const char* use, const std::string& path, const char* advice);

}  // namespace ziggurat::deck
