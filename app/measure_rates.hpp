/// Measured rates of computing, copying and disks, on all ranks at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/known_peaks.hpp"
#include "comm/context.hpp"
#include "device/device.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "train/account/utilisation.hpp"

namespace ziggurat::app {

/// Rates of a rank while all others work as well, of the slowest of them.
struct MeasuredRates {
    double flops = 0;  ///< FLOP/s of products
    double copy = 0;   ///< bytes/s from memory to memory
    // Bytes per second of the disks; 0: not measured.
    double nvme_read = 0;
    double nvme_write = 0;
};

/// What is to be measured, and in what shape.
struct RatesToMeasure {
    spec::DType type = spec::DType::f32;  ///< of the products
    int threads = 1;
    std::vector<std::string> folders = {};  ///< on the disks to be measured; none: they are not
    bool is_near = false;                   ///< each rank measures those that are near it (tiers.nvme.map)
    std::int64_t block_bytes = 0;
    int queue_depth = 0;
};

/// What rank 0 asks for, on all ranks; nothing where it asks for nothing more.
///
/// \param wanted  on rank 0
/// Collective: over `world`
std::optional<RatesToMeasure> agree_to_measure(const comm::Context& world,
                                               const std::optional<RatesToMeasure>& wanted);

/// Takes some hundredths of a second, and for disks as long as storage::probe. Disks that a rank cannot use
/// count as not measured: why will be said when they are needed. Where the folders have other names than on
/// rank 0, disks are taken to be as fast as its.
///
/// Collective: over `world`, with the same arguments; the same result on all ranks
MeasuredRates measure_rates(const comm::Context& world, const RatesToMeasure& wanted);

/// What the model FLOPs utilisation of `run` is measured against: what rank 0's machine file gives; or, where
/// that is 0, the mean over ranks of the best that a large product in the compute type reaches now, or in an
/// earlier start where that was more, for others may be using the machine. Up to about a tenth of a second.
///
/// \param device       that the run computes with
/// \param given_flops  FLOP/s of a rank by the machine file; 0: it says nothing
/// \param known        of earlier starts; rank 0's file is read, and keeps what is more
/// Collective: over `world`; the same result on all ranks
train::Peak find_peak(const comm::Context& world,
                      const spec::RunSpec& run,
                      device::Device& device,
                      double given_flops,
                      const KnownPeaks& known);

/// `machine` with what was measured where nothing is known.
spec::MachineSpec with_rates(spec::MachineSpec machine, const MeasuredRates& rates, int ranks_per_node);

}  // namespace ziggurat::app
