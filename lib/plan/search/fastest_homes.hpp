/// Choice of open homes and recomputation by planned time.
#pragma once

#include "plan/watch.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns `spec` with a home for every open kind, and with recomputation if that is open.
///
/// It compares choices of choose_homes() that fit: with each kind of recomputation if that is open, then with
/// each open kind of state kept on the device, so that others leave. Returns that of choose_homes() for the
/// whole `spec` if the machine's rates are unknown, if all state stays on the device without recomputation,
/// or if tiles are open.
///
/// If recomputation and the home of activations are both open, it also compares fates of single activations
/// (search_fates), which are the same in all stages: the result then has Recompute::fates, and `kind` none.
///
/// With Movement::chunks, programs with chunks are compared, and each open kind of state is also tried with
/// all of it on the host. If the machine's rates are unknown, the bytes of a step over all links are
/// compared. The result's device budget is what libraries leave of the device, if that is less: chunks fill
/// the budget.
///
/// Large programs are tried less often: it stops after four times the work of the first search, with chunks
/// after eight times, for fates after twelve times that work, and always after max_ops_of_comparison.
spec::RunSpec choose_fastest_homes(const spec::RunSpec& spec,
                                   const spec::MachineSpec& machine,
                                   const Watch& watch = {});

}  // namespace ziggurat::plan
