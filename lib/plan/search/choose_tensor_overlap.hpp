/// Choice of `overlap.tensor: auto`: collectives on the tensor axis whole or in pieces.
#pragma once

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "spec/tensor_overlap_choice.hpp"

namespace ziggurat::plan {

/// Chooses pieces if the planned step is at least 1 % shorter with them.
///
/// Pieces hide communication, but products with fewer rows are less efficient, and each piece has the latency
/// of a collective. Homes must be known.
spec::TensorOverlapChoice choose_tensor_overlap(const spec::RunSpec& spec, const spec::MachineSpec& machine);

}  // namespace ziggurat::plan
