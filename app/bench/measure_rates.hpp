/// Measured rates of products, memory copies and disks, on all ranks at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/bench/peak_cache.hpp"
#include "comm/context.hpp"
#include "device/device.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "train/account/utilisation.hpp"

namespace ziggurat::app {

/// Rates of the slowest rank while all ranks work.
struct MeasuredRates {
    double flops = 0;  ///< FLOP/s of products
    double copy = 0;   ///< bytes/s from memory to memory
    // Bytes per second of the disks; 0 = not measured.
    double nvme_read = 0;
    double nvme_write = 0;
};

/// Rates to measure, and the parameters of the measurement.
struct RatesToMeasure {
    spec::DType type = spec::DType::f32;  ///< number type of the products
    int threads = 1;
    std::vector<std::string> folders = {};  ///< folders on the disks to measure; empty: no disks
    bool is_near = false;                   ///< each rank measures its NUMA-local disks (tiers.nvme.map)
    std::int64_t block_bytes = 0;
    int queue_depth = 0;
};

/// Broadcasts the next measurement that rank 0 requests; empty if it requests no more.
///
/// \param wanted  valid on rank 0
/// Collective: over `world`
std::optional<RatesToMeasure> agree_to_measure(const comm::Context& world,
                                               const std::optional<RatesToMeasure>& wanted);

/// Measures the rates; returns the same result on all ranks.
///
/// Takes some hundredths of a second, and for disks as long as storage::probe. Disks that a rank cannot use
/// count as not measured; the reason is reported when they are needed. If a rank does not have the folders
/// under these names, its disks are assumed to be as fast as those of other ranks.
///
/// Collective: over `world`, with the same arguments
MeasuredRates measure_rates(const comm::Context& world, const RatesToMeasure& wanted);

/// Returns the peak FLOP/s of a rank for the model FLOPs utilisation of `run`; the same on all ranks.
///
/// It is the value of rank 0's machine file. If that is 0, it is measured: the mean over ranks of the best
/// rate of a large product in the compute type. If an earlier start has measured more, that value is used,
/// because other processes may be using the machine now. Takes up to about a tenth of a second.
///
/// \param device       device that the run computes with
/// \param given_flops  FLOP/s of a rank from the machine file; 0 = not given
/// \param known        peaks of earlier starts; rank 0 reads the file and updates it with a larger value
/// Collective: over `world`
train::Peak find_peak(const comm::Context& world,
                      const spec::RunSpec& run,
                      device::Device& device,
                      double given_flops,
                      const PeakCache& known);

/// Returns `machine` with measured rates in place of unknown ones.
spec::MachineSpec with_rates(spec::MachineSpec machine, const MeasuredRates& rates, int ranks_per_node);

}  // namespace ziggurat::app
