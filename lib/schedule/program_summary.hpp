/// Summary of a step program, unit by unit and lane by lane.
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
    /// Sent by collectives and messages, as a ring would; moved by copies and disks; written by the rest.
    std::int64_t bytes = 0;
    double flops = 0;

    int ops() const;
    bool operator==(const LaneWork&) const = default;
};

struct UnitWork {
    std::string unit;
    std::vector<LaneWork> lanes;
};

/// In the order of first use. `units` are the names of the model's.
std::vector<UnitWork> work_by_unit(const Program& program, const std::vector<std::string>& units);

/// The same as a table. Neighbouring units that do the same share their lines.
std::string work_table(const std::vector<UnitWork>& work);

}  // namespace ziggurat::schedule
