/// Best rate of products that trainings have reached on this machine, for plans without other rates.
#pragma once

#include <functional>
#include <utility>

#include "deck/load.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Returns the best FLOP/s per rank that trainings have reached on this machine; 0 if unknown.
using KeptPeakOf = std::function<double(const spec::RunSpec&)>;

/// Returns the peaks in the user's file, for this program on this hardware.
KeptPeakOf kept_peaks_here();

/// Returns `machine` with the kept peak of `run` if its rate of products is unknown.
///
/// \param kept_peak  may be empty: then the rate stays unknown
inline spec::MachineSpec with_kept_peak(spec::MachineSpec machine,
                                        const spec::RunSpec& run,
                                        const KeptPeakOf& kept_peak) {
    const auto& products =
        run.precision.compute == spec::DType::bf16 ? machine.bf16_products : machine.fp32_products;
    if (machine.device_flops <= 0 && products.forward.flops <= 0 && kept_peak) {
        machine.device_flops = kept_peak(run);
    }
    return machine;
}

/// Does the same for the machine of a deck, and sets LoadedDeck::has_kept_peak.
inline void use_kept_peak(deck::LoadedDeck& loaded, const KeptPeakOf& kept_peak) {
    const double known = loaded.machine.device_flops;
    loaded.machine = with_kept_peak(std::move(loaded.machine), loaded.run, kept_peak);
    loaded.has_kept_peak = loaded.machine.device_flops != known;
}

}  // namespace ziggurat::app
