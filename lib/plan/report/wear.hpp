/// Wear of disks: bytes that a run writes to them.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Wear of one path of tiers.nvme.paths; if no path is named, of all disks of a node together.
struct Wear {
    double bytes_per_step = 0;    ///< written bytes
    double min_step_seconds = 0;  ///< of compute or of the slowest link at their rates; 0: unknown

    double max_bytes_per_day() const noexcept {
        return min_step_seconds > 0 ? bytes_per_step / min_step_seconds * 86400 : 0;
    }
};

/// Returns the wear that a program causes.
///
/// \param program  of the rank that writes most. The writes of each micro-batch and layer are scaled if it
///                 has fewer of them than the run.
/// \param layers   number of layers for which the program has ops
Wear wear(const spec::RunSpec& spec,
          const spec::MachineSpec& machine,
          const schedule::Program& program,
          std::int64_t layers);

/// Returns the wear as a line, with the days that tiers.nvme.endurance lasts.
///
/// The line is empty if the run writes no bytes.
std::string wear_line(const spec::RunSpec& spec,
                      const spec::MachineSpec& machine,
                      const schedule::Program& program,
                      std::int64_t layers);

}  // namespace ziggurat::plan
