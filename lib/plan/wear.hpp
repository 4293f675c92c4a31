/// Wear of the disks: bytes that a run writes to them.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Of one path of tiers.nvme.paths; with none named, of all disks of a node together.
struct Wear {
    double bytes_per_step = 0;      ///< written
    double least_step_seconds = 0;  ///< what computing or the slowest way take at their rates; 0: unknown

    double most_bytes_per_day() const noexcept {
        return least_step_seconds > 0 ? bytes_per_step / least_step_seconds * 86400 : 0;
    }
};

/// \param program  of the rank that writes most; what each micro-batch and layer writes is scaled where it
/// has
///                 fewer of them than the run
/// \param layers   that the program has ops of
Wear wear(const spec::RunSpec& spec,
          const spec::MachineSpec& machine,
          const schedule::Program& program,
          std::int64_t layers);

/// The same as a line, with the days that tiers.nvme.endurance stands it; empty where nothing is written.
std::string wear_line(const spec::RunSpec& spec,
                      const spec::MachineSpec& machine,
                      const schedule::Program& program,
                      std::int64_t layers);

}  // namespace ziggurat::plan
