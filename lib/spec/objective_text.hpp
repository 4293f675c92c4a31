/// Words and description of objectives.
#pragma once

#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns the word of a deck for the kind: next_token, dpo, ipo.
const char* word_of(ObjectiveKind kind);

/// Returns the reference as a deck names it: start, adapters_off, or its path.
std::string reference_word(const Objective& objective);

/// Returns kind, settings and reference; empty for the objective next_token.
std::string objective_text(const Objective& objective);

}  // namespace ziggurat::spec
