/// Volumes that ranks send each other in a step: by formula, and counted from a program.
#pragma once

#include <cstdint>
#include <map>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Elements that one rank sends over the data axis in one step, as a ring would send them.
///
/// Source: Rajbhandari et al., "ZeRO", 2020, section 7; Chen et al., "AMSP", 2023, section 4.
struct Volumes {
    std::int64_t gathers = 0;      ///< leases of parameters over the span of parameters
    std::int64_t secondary = 0;    ///< leases from the second copy
    std::int64_t reduction = 0;    ///< of gradients
    std::int64_t accumulated = 0;  ///< the part of it that is of accumulators, not of one micro-batch
    std::int64_t publication = 0;  ///< of updated parameters

    bool operator==(const Volumes&) const = default;
};

/// For M micro-batches, spans p, g, o of d data ranks, a secondary span s and units of padded size P, of
/// which T are trained, summed over the units of the rank:
///
///     gathers      M leases P(1 - 1/p); leases are 2 for a decoder layer, 1 for a lookup, for the head and
///                  for a layer whose backward uses no parameters: below the first trained tensor there is
///                  none. With leases for the step, or with a secondary span, only the first lease of a step.
///     secondary    all later leases, P(1 - 1/s) each
///     reduction    at_end           T(1 - 1/d)
///                  each_microbatch  M T(1 - 1/d)
///                  by_span          M T(1 - 1/g) + T/g (1 - g/d)
///                  and in all       T/o (1 - o/d)
///     accumulated  the terms of these without M
///     publication  T/p (1 - p/o)
///
/// Of units in tiles the publication alone: tile_volumes_of_axis has the rest.
Volumes volumes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

/// Those volumes in bytes: gradients of a micro-batch travel in fp32, accumulators in precision.gradient.
std::map<Purpose, std::int64_t> bytes_of(const Volumes& volumes, const spec::Precision& precision);

/// The volumes counted from the collectives of a program, which do not tell what is `accumulated` (0).
Volumes volumes_counted(const Program& program);

/// The leases that a rank takes of a unit for one micro-batch: one each for forward and backward of a layer
/// (recomputation shares backward's), one for the lookup, one for the head, which runs forward and backward
/// in one go.
std::int64_t leases_per_microbatch(const spec::RunSpec& spec, const ModelLayout& model, int unit);

/// Bytes that the rank sends with `op`, as a ring would: b(n-1)/n for gathering or scattering b bytes among n
/// ranks, twice that for both, b for a message; 0 for what is no collective.
std::int64_t bytes_sent(const Op& op, const Program& program);

/// bytes_sent of all ops of one step.
std::map<Purpose, std::int64_t> bytes_sent_by_purpose(const Program& program);

}  // namespace ziggurat::schedule
