/// Traffic between tiers in a step, in closed form.
#pragma once

#include <array>

#include "schedule/model_layout.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Returns the bytes of state that one rank moves over each link in one step.
///
/// Shape: [cargo][link], as in bytes_by_payload.
///
/// M is the number of micro-batches. The compute type has c bytes, gradients have g bytes. T (trained) and F
/// (frozen) are the elements that the rank holds of a unit, summed over its units. Leases L are as in
/// Volumes:
///
///     parameters   each lease moves the shard to the device: M L c(T + F); with home NVMe, it is read
///                  equally often. An update writes cT one time; if the optimizer is in another tier,
///                  these bytes cross the links between the tiers. If parameters are the master weights
///                  (fp32), the update also reads them.
///     gradients    the reduced shard of every micro-batch leaves the device in fp32, M 4T; with home NVMe,
///                  M gT are written and M gT read, one of them by the update, which works in the tier of
///                  the optimizer.
///     optimizer    with home NVMe, read and written one time: 8T for the moments, and 4T for master weights
///                  if parameters are not fp32.
///
/// NVMe moves whole pages: each of these sums of one unit and state kind is rounded up to 4 KiB, because
/// shards on NVMe begin at pages and chunks are cut at pages. No other value is rounded. No parameters stay
/// resident from one lease to the next. State with its home on the device does not move.
///
/// \pre all state is sharded over all data ranks, of which there are several; gradients are reduced in each
///      micro-batch; every home is one tier; no unit is tiled; there is one stage
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, sections 4.1 and 5.1
BytesByPayload link_volumes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

/// Returns the bytes of moments that bytes_by_link includes as reads from NVMe.
///
/// The first step of a training run skips these reads, because the moments are zero.
std::int64_t moments_read(const Program& program);

}  // namespace ziggurat::schedule
