#include "schedule/step_program.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/contract.hpp"

namespace ziggurat::schedule {
namespace {

using namespace std::string_literals;

const Operand* find(const std::vector<Operand>& operands, Role role) {
    const auto at =
        std::find_if(operands.begin(), operands.end(), [&](const Operand& o) { return o.role == role; });
    return at == operands.end() ? nullptr : &*at;
}

/// Returns the index of the lane with the properties of `wanted`; adds the lane if it is missing.
int found_or_added(std::vector<Lane>& lanes, Lane wanted) {
    const auto kind = [](const Lane& lane) {
        return std::tuple{lane.engine, lane.group, lane.direction, lane.serves_updates, lane.serves_control};
    };
    const auto at = std::ranges::find(lanes, kind(wanted), kind);
    const auto index = at - lanes.begin();
    if (at == lanes.end()) {
        lanes.push_back(std::move(wanted));
    }
    return static_cast<int>(index);
}

}  // namespace

std::int64_t Operand::bytes() const {
    std::int64_t total = 0;
    for (const auto& run : runs) {
        total += run.bytes;
    }
    return total;
}

LaneId Program::lane(Engine engine, int group_index, Direction direction) {
    const auto is_it = [&](const Lane& lane) {
        return lane.engine == engine && lane.group == group_index && lane.direction == direction &&
               !lane.serves_updates && !lane.serves_control;
    };
    if (const auto known = std::ranges::find_if(lanes, is_it); known != lanes.end()) {
        return static_cast<int>(known - lanes.begin());
    }
    std::string name = to_string(engine);
    if (group_index >= 0) {
        name += "[" + groups.at(group_index).name;
        name += direction == Direction::none ? "]" : std::string{" "} + to_string(direction) + "]";
    }
    return found_or_added(lanes, {engine, group_index, direction, std::move(name)});
}

LaneId Program::update_lane(Engine engine) {
    return found_or_added(lanes, {engine, -1, Direction::none, to_string(engine) + "[updates]"s, true});
}

LaneId Program::operator_lane() {
    return found_or_added(lanes, {Engine::host_optimizer, -1, Direction::forward,
                                  to_string(Engine::host_optimizer) + "[operators]"s});
}

LaneId Program::control_lane(Engine engine) {
    return found_or_added(lanes,
                          {engine, -1, Direction::none, to_string(engine) + "[control]"s, false, true});
}

int Program::group(const std::string& name, const std::vector<int>& members) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i].members == members && groups[i].name == name) {
            return static_cast<int>(i);
        }
    }
    const auto me = std::find(members.begin(), members.end(), rank);
    ZG_EXPECTS(me != members.end());
    groups.push_back({name, members, static_cast<int>(me - members.begin())});
    return static_cast<int>(groups.size()) - 1;
}

BufferId Program::add_buffer(Buffer buffer) {
    ZG_EXPECTS(buffer.bytes >= 0);
    buffers.push_back(std::move(buffer));
    return static_cast<int>(buffers.size()) - 1;
}

const Buffer& Program::buffer(BufferId buffer) const {
    ZG_EXPECTS(buffer >= 0 && buffer < std::ssize(buffers));
    return buffers[buffer];
}

const Operand* Program::find_read(const Op& op, Role role) const {
    return find(op.reads, role);
}

const Operand* Program::find_write(const Op& op, Role role) const {
    return find(op.writes, role);
}

Operand whole(const Program& program, BufferId buffer, Role role) {
    return {buffer, role, {{0, program.buffers.at(buffer).bytes}}};
}

}  // namespace ziggurat::schedule
