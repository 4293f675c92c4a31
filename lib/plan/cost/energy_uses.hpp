/// Work of ops in the units to which energy is attributed.
#pragma once

#include <vector>

#include "base/enum_array.hpp"
#include "plan/cost/rates.hpp"
#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Amounts of one rank: FLOP by type, and bytes of memory and links.
using EnergyUses = EnumArray<spec::EnergyUse, double, spec::num_energy_uses>;

/// Returns the amounts of each op.
///
/// Products and attention count their FLOP in the compute type. All ops but collectives count the bytes of
/// their operands in the device tier, each one time, so a product of small matrices has more bytes per FLOP
/// than one of large matrices. Collectives count the bytes that a rank sends: in rings within nodes and
/// between nodes, as collective_seconds() counts them. Messages count for their sender.
std::vector<EnergyUses> energy_uses(const schedule::Program& program,
                                    const spec::RunSpec& spec,
                                    int ranks_per_node);

/// Returns the joules of some amounts.
double joules_of(const EnergyUses& uses, const spec::EnergyRates& rates);

}  // namespace ziggurat::plan
