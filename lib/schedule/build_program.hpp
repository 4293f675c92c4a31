/// Builders of the program of one rank from a run's specification.
#pragma once

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// All builders and passes, in order.
///
/// `evaluate` is the forward of one micro-batch with its losses. The persistent buffers of both variants lie
/// at the same places, so they can share their arenas.
///
/// Errors: contract, if a degree does not divide what it shards (the rules of the deck report it first)
Program build_program(const spec::RunSpec& spec, const ModelLayout& model, Variant variant);

/// Builds the program of `rank`; computes the rank's layout first.
Program build_program(const spec::RunSpec& spec, int rank, Variant variant);

/// Builds a program without dependencies and without the blocks of collectives over the data axis.
///
/// This suffices to compute memory use, and takes a time that does not depend on the number of ranks.
Program build_placed(const spec::RunSpec& spec, const ModelLayout& model, Variant variant);

}  // namespace ziggurat::schedule
