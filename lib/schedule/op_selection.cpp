#include "schedule/op_selection.hpp"

#include <algorithm>

namespace ziggurat::schedule {
namespace {

const std::string& lane_of(const Op& op, const Program& program) {
    return program.lanes.at(op.lane).name;
}

/// Returns `collective` for `collective[data]`.
std::string without_group(const std::string& lane) {
    return lane.substr(0, lane.find('['));
}

void add_once(std::vector<std::string>& list, const std::string& item) {
    if (std::find(list.begin(), list.end(), item) == list.end()) {
        list.push_back(item);
    }
}

}  // namespace

const std::string& unit_of(const Op& op, const std::vector<std::string>& units) {
    static const std::string none = no_unit;
    return op.unit < 0 ? none : units.at(op.unit);
}

OpChoices choices_of(const Program& program, const std::vector<std::string>& units) {
    OpChoices there;
    for (const auto& op : program.ops) {
        add_once(there.units, unit_of(op, units));
        add_once(there.lanes, lane_of(op, program));
        add_once(there.lanes, without_group(lane_of(op, program)));
        add_once(there.kinds, to_string(op.kind));
    }
    return there;
}

std::vector<int> select_ops(const Program& program,
                            const std::vector<std::string>& units,
                            const OpSelection& selection) {
    const auto is_chosen = [&](int position) {
        const Op& op = program.ops[position];
        const auto& lane = lane_of(op, program);
        const auto& range = selection.range;
        return (selection.unit.empty() || selection.unit == unit_of(op, units)) &&
               (selection.lane.empty() || selection.lane == lane || selection.lane == without_group(lane)) &&
               (selection.kind.empty() || selection.kind == to_string(op.kind)) &&
               (!range || (range->first <= position && position <= range->second));
    };
    std::vector<int> chosen;
    for (OpId position = 0; position < program.ops.end_id(); ++position) {
        if (is_chosen(position)) {
            chosen.push_back(position);
        }
    }
    return chosen;
}

}  // namespace ziggurat::schedule
