/// From what is asked for to the program of one rank.
#pragma once

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// All builders and passes, in order.
///
/// `evaluate` is the forward of one micro-batch with its losses. The persistent buffers of both variants lie
/// at the same places, so they can share their arenas.
///
/// Errors: contract, when degrees do not divide what they cut (the deck's rules say so first)
Program build_program(const spec::RunSpec& spec, const ModelLayout& model, Variant variant);

/// The same for a rank of which nobody has the layout yet.
Program build_program(const spec::RunSpec& spec, int rank, Variant variant);

/// The first without what ops wait for and without the blocks of collectives over the data axis: all that the
/// question needs of what memory it takes, in a time that does not depend on the number of ranks.
Program build_placed(const spec::RunSpec& spec, const ModelLayout& model, Variant variant);

}  // namespace ziggurat::schedule
