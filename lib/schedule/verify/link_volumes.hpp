/// Traffic between tiers in a step, by formula.
#pragma once

#include <array>

#include "schedule/model_layout.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Bytes that state moves over each link in one step of one rank: [cargo][link], as bytes_by_cargo counts
/// them.
///
/// For M micro-batches, compute type of c bytes, gradients of g bytes, and the elements T (trained) and F
/// (frozen) that the rank holds of a unit, summed over its units, with leases L as in Volumes:
///
///     parameters   each lease brings the slice to the device: M L c(T + F); at home on NVMe it is read as
///                  often. An update writes cT once; with an optimizer on another tier these cross the links
///                  between, and where parameters are the master weights (fp32) they are read for it as well.
///     gradients    the reduced slice of every micro-batch leaves the device in fp32, M 4T; at home on NVMe
///                  M gT are written and M gT read, one of them by the update, which works where the
///                  optimizer is.
///     optimizer    at home on NVMe read and written once: 8T for the moments, and 4T for master weights
///                  where parameters are not fp32.
///
/// NVMe moves whole pages: each of these sums of one unit and state kind is rounded up to 4 KiB, since shards
/// on NVMe begin at pages and chunks are cut at pages. Nothing else is rounded. No parameters stay resident
/// from one lease to the next; what has its home on the device does not move.
///
/// \pre all state is sharded over all data ranks, of which there are several, gradients are reduced in each
///      micro-batch, every home is one tier, nothing is in tiles, and there is one stage
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, sections 4.1 and 5.1
std::array<BytesByLink, num_cargoes> link_volumes_by_formula(const spec::RunSpec& spec,
                                                             const ModelLayout& model);

/// Of bytes_by_link, the moments that are read from NVMe: what the first step of a training leaves out, when
/// they are zero.
std::int64_t moments_read(const Program& program);

}  // namespace ziggurat::schedule
