/// Homes of the elements of a rank's persistent state.
#pragma once

#include <vector>

#include "layout/chunk_layout.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Elements of a unit's flat range that are at home in one tier.
struct HomePart {
    layout::ElementRange range;
    spec::Tier tier = spec::Tier::device;

    bool operator==(const HomePart&) const = default;
};

/// The multiple at which every shard begins in a rank's address space: whole pages where some state lies on
/// NVMe.
std::int64_t chunk_alignment(const spec::RunSpec& spec);

/// The parts of each buffer of `program`, in the order of its elements; none for what is no state. A home in
/// shares is cut between chunks of the state's own address space: the first go to the device, then to the
/// host, then to NVMe.
std::vector<std::vector<HomePart>> home_parts(const Program& program,
                                              const spec::RunSpec& spec,
                                              const ModelLayout& model);

}  // namespace ziggurat::schedule
