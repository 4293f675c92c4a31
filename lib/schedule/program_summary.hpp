/// Summary of a step program, by unit and lane.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// The ops of one unit on one lane.
struct LaneWork {
    std::string lane;
    std::map<std::string, int> kinds;  ///< ops by kind
    /// Sent by collectives and messages (as in a ring), moved by copies and disks, or written by other ops.
    std::int64_t bytes = 0;
    double flops = 0;

    int ops() const;
    bool operator==(const LaneWork&) const = default;
};

struct UnitWork {
    std::string unit;
    std::vector<LaneWork> lanes;
};

/// Returns the work of each unit, in the order of first use. `units` are the names of the model's
/// units.
std::vector<UnitWork> work_by_unit(const Program& program, const std::vector<std::string>& units);

/// Returns the work as a table. Adjacent units with equal work share their rows.
std::string work_table(const std::vector<UnitWork>& work);

}  // namespace ziggurat::schedule
