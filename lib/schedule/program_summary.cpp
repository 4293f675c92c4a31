#include "schedule/program_summary.hpp"

#include <algorithm>

#include "base/text/units.hpp"
#include "schedule/op_selection.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "schedule/volumes/volumes.hpp"

namespace ziggurat::schedule {
namespace {

std::int64_t bytes_of(const Op& op, const Program& program) {
    if (op.group >= 0) {
        return bytes_sent(op, program);
    }
    if (link_of(op, program)) {
        return bytes_moved(op, program);
    }
    std::int64_t bytes = 0;
    for (const auto& operand : op.writes) {
        bytes += operand.bytes();
    }
    return bytes;
}

/// Returns the entry of `list` whose `name` is `wanted`; adds it if it is missing.
template <class Entry>
Entry& entry(std::vector<Entry>& list, std::string Entry::*name, const std::string& wanted) {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const Entry& e) { return e.*name == wanted; });
    if (found != list.end()) {
        return *found;
    }
    list.emplace_back().*name = wanted;
    return list.back();
}

std::string on_left(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

std::string on_right(const std::string& text, std::size_t width) {
    return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string kinds_text(const std::map<std::string, int>& kinds) {
    std::string text;
    for (const auto& [kind, count] : kinds) {
        text += (text.empty() ? "" : ", ") + kind + " " + std::to_string(count);
    }
    return text;
}

}  // namespace

int LaneWork::ops() const {
    int sum = 0;
    for (const auto& [kind, count] : kinds) {
        sum += count;
    }
    return sum;
}

std::vector<UnitWork> work_by_unit(const Program& program, const std::vector<std::string>& units) {
    std::vector<UnitWork> work;
    for (const auto& op : program.ops) {
        auto& unit = entry(work, &UnitWork::unit, unit_of(op, units));
        auto& lane = entry(unit.lanes, &LaneWork::lane, program.lanes.at(op.lane).name);
        ++lane.kinds[to_string(op.kind)];
        lane.bytes += bytes_of(op, program);
        lane.flops += op.flops;
    }
    return work;
}

std::string work_table(const std::vector<UnitWork>& work) {
    constexpr std::size_t number = 12;
    struct Line {
        std::string unit;
        const LaneWork* lane;
    };
    std::vector<Line> lines;
    std::size_t unit_width = 4;
    std::size_t lane_width = 4;
    for (std::size_t first = 0, next = 0; first < work.size(); first = next) {
        for (next = first + 1; next < work.size() && work[next].lanes == work[first].lanes;) {
            ++next;
        }
        std::string name = work[first].unit;
        if (next > first + 1) {
            name += " to " + work[next - 1].unit + ", each";
        }
        for (const auto& lane : work[first].lanes) {
            lines.push_back({name, &lane});
            unit_width = std::max(unit_width, name.size());
            lane_width = std::max(lane_width, lane.lane.size());
            name.clear();
        }
    }
    std::string text = on_left("unit", unit_width) + "  " + on_left("lane", lane_width) + "   ops" +
                       on_right("bytes", number) + on_right("FLOP", number) + "  of kind\n";
    for (const auto& [unit, lane] : lines) {
        text += on_left(unit, unit_width) + "  " + on_left(lane->lane, lane_width) +
                on_right(std::to_string(lane->ops()), 6) +
                on_right(lane->bytes > 0 ? format_bytes(lane->bytes) : "-", number) +
                on_right(lane->flops > 0 ? format_count(lane->flops) : "-", number) + "  " +
                kinds_text(lane->kinds) + "\n";
    }
    return text;
}

}  // namespace ziggurat::schedule
