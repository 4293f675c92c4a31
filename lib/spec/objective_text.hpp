/// Description of a preference objective, for summaries.
#pragma once

#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns kind, settings and reference; empty for the objective next_token.
std::string objective_text(const Objective& objective);

}  // namespace ziggurat::spec
