/// What computing and copying were found to be worth, on all ranks at once.
#pragma once

#include "comm/communicator.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Rates of a rank while all others work as well, of the slowest of them.
struct MeasuredRates {
    double flops = 0;  ///< FLOP/s of products
    double copy = 0;   ///< bytes/s from memory to memory
};

/// Takes some hundredths of a second.
/// Collective: over `world`, with the same arguments; the same result on all ranks
MeasuredRates measure_rates(const comm::Communicator& world, spec::DType type, int threads);

/// `machine` with what was measured where nothing is known.
spec::MachineSpec with_rates(spec::MachineSpec machine, const MeasuredRates& rates);

}  // namespace ziggurat::app
