#include "plan/search/choose_tensor_overlap.hpp"

#include <fmt/format.h>

#include "base/text/units.hpp"
#include "plan/planned_time.hpp"
#include "plan/search/significantly_shorter.hpp"

namespace ziggurat::plan {

spec::TensorOverlapChoice choose_tensor_overlap(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    if (spec.tiers.sequence_tiles > 1) {
        return {false, "tiers.sequence_tiles divides the products of MLPs"};
    }
    auto run = spec;
    run.overlap.tensor_pieces = false;
    const double whole = planned_time(run, machine).step_seconds;
    run.overlap.tensor_pieces = true;
    const double in_pieces = planned_time(run, machine).step_seconds;
    return {in_pieces < significantly_shorter * whole,
            fmt::format("a step takes {} in pieces and {} with whole collectives", format_duration(in_pieces),
                        format_duration(whole))};
}

}  // namespace ziggurat::plan
