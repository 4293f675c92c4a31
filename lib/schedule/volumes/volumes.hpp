/// Volumes that ranks send in a step: in closed form, and counted from a program.
#pragma once

#include <cstdint>
#include <map>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Elements that one rank sends over the data axis in one step, counted as in a ring.
///
/// Source: Rajbhandari et al., "ZeRO", 2020, section 7; Chen et al., "AMSP", 2023, section 4.
struct Volumes {
    std::int64_t gathers = 0;      ///< leases of parameters over the span of parameters
    std::int64_t secondary = 0;    ///< leases from the second copy
    std::int64_t reduction = 0;    ///< of gradients
    std::int64_t accumulated = 0;  ///< the part of `reduction` that moves accumulators
    std::int64_t publication = 0;  ///< of updated parameters

    bool operator==(const Volumes&) const = default;
};

/// Returns the volumes in closed form.
///
/// There are M micro-batches, spans p, g, o of d data ranks, a secondary span s, and units of padded size P,
/// of which T elements are trained. Summed over the units of the rank:
///
///     gathers      M leases P(1 - 1/p); leases are 2 for a decoder layer, 1 for a lookup, for the head and
///                  for a layer whose backward reads no parameters (below the first trained tensor there is
///                  no backward). With leases for the step, or a secondary span, only the first lease of a
///                  step. With train.accumulate by_layer, M is 1 here.
///     secondary    all later leases, P(1 - 1/s) each
///     reduction    at_end           T(1 - 1/d)
///                  each_microbatch  M T(1 - 1/d)
///                  by_span          M T(1 - 1/g) + T/g (1 - g/d)
///                  and in all       T/o (1 - o/d)
///     accumulated  the terms of these without M
///     publication  T/p (1 - p/o)
///
/// For tiled units, only the publication: tile_volumes_of_axis has the rest.
Volumes volumes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

/// Returns volumes in bytes: gradients of a micro-batch are fp32, accumulators have precision.gradient.
std::map<Purpose, std::int64_t> bytes_of(const Volumes& volumes, const spec::Precision& precision);

/// Returns the volumes counted from the collectives of a program; `accumulated` is 0, as it is unknown.
Volumes volumes_counted(const Program& program);

/// Returns the number of leases of a unit for one micro-batch on a rank.
///
/// A layer has one for forward and one for backward, which recomputation shares. A lookup has one; the head,
/// which runs forward and backward together, has one.
std::int64_t leases_per_microbatch(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit);

/// Returns the number of leases of a unit in a step, with leases for each pass.
///
/// By layer, one lease of an untiled unit serves the passes of all micro-batches.
std::int64_t leases_per_step(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit);

/// Returns the bytes that the rank sends with `op`, counted as in a ring.
///
/// These are b(n-1)/n to gather or scatter b bytes among n ranks, twice that for both, and b for a message; 0
/// for an op without communication.
std::int64_t bytes_sent(const Op& op, const Program& program);

/// Returns the sum of bytes_sent over the ops of one step, by purpose.
std::map<Purpose, std::int64_t> bytes_sent_by_purpose(const Program& program);

}  // namespace ziggurat::schedule
