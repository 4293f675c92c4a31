/// Homes of the elements of a rank's persistent state.
#pragma once

#include <vector>

#include "layout/chunk_layout.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Elements of a unit's flat range whose home is one tier.
struct HomePart {
    layout::ElementRange range;
    spec::Tier tier = spec::Tier::device;

    bool operator==(const HomePart&) const = default;
};

/// Returns the alignment of every shard in a rank's address space: whole pages if some state is on
/// NVMe.
std::int64_t chunk_alignment(const spec::RunSpec& spec);

/// Returns the parts of each buffer of `program`, in the order of its elements; empty for non-state
/// buffers.
///
/// A home that is divided between tiers is cut between chunks of the state's own address space. The first
/// chunks go to the device, the next to the host, the last to NVMe. State that stays on the host goes to the
/// host where its chunks would go to the device. Stashes have the parts of the parameters of their unit.
std::vector<std::vector<HomePart>> home_parts(const Program& program,
                                              const spec::RunSpec& spec,
                                              const ModelLayout& model);

}  // namespace ziggurat::schedule
