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

/// Kind of pass with a KV cache: over a prompt, without logits, or with logits and losses.
enum class CachedKind { prompt, logits };

/// Builds a program of Variant::cached for the passes that spec::cached_passes() returns.
///
/// Its persistent buffers lie at the same places as those of the other variants of `spec`. The caches follow
/// them, in memory that the other variants use for their passes: they hold only from one cached pass to the
/// next one. Programs of both kinds have the same caches.
///
/// \pre the run has such passes
Program build_cached_program(const spec::RunSpec& spec, int rank, CachedKind kind);
/// Builds such a program as build_placed() does.
Program build_placed_cached(const spec::RunSpec& spec, int rank, CachedKind kind);

/// Builds a program without dependencies and without the blocks of collectives over the data axis.
///
/// This suffices to compute memory use, and takes a time that does not depend on the number of ranks.
Program build_placed(const spec::RunSpec& spec, const ModelLayout& model, Variant variant);

/// Builds a training program with dependencies, without these blocks: enough to compute its time.
Program build_timed(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
