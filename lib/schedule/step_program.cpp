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

const Operand* find(const std::vector<Operand>& operands, const std::string& role) {
    const auto at =
        std::find_if(operands.begin(), operands.end(), [&](const Operand& o) { return o.role == role; });
    return at == operands.end() ? nullptr : &*at;
}

/// Index of the lane of the same kind as `wanted`.
int found_or_added(std::vector<Lane>& lanes, Lane wanted) {
    const auto kind = [](const Lane& lane) {
        return std::tuple{lane.engine, lane.group, lane.direction, lane.serves_updates};
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

int Program::lane(Engine engine, int group_index, Direction direction) {
    std::string name = to_string(engine);
    if (group_index >= 0) {
        name += "[" + groups.at(static_cast<std::size_t>(group_index)).name;
        name += direction == Direction::none ? "]" : std::string{" "} + to_string(direction) + "]";
    }
    return found_or_added(lanes, {engine, group_index, direction, std::move(name)});
}

int Program::update_lane(Engine engine) {
    return found_or_added(lanes, {engine, -1, Direction::none, to_string(engine) + "[updates]"s, true});
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

int Program::add_buffer(Buffer buffer) {
    ZG_EXPECTS(buffer.bytes >= 0);
    buffers.push_back(std::move(buffer));
    return static_cast<int>(buffers.size()) - 1;
}

const Operand* Program::find_read(const Op& op, const std::string& role) const {
    return find(op.reads, role);
}

const Operand* Program::find_write(const Op& op, const std::string& role) const {
    return find(op.writes, role);
}

int element_bytes(const Buffer& buffer) {
    return spec::element_bytes(buffer.type);
}

layout::ElementRange elements_of(const Buffer& buffer) {
    return {buffer.first_element, buffer.first_element + buffer.bytes / element_bytes(buffer)};
}

Operand whole(const Program& program, int buffer, std::string role) {
    return {buffer, std::move(role), {{0, program.buffers.at(static_cast<std::size_t>(buffer)).bytes}}};
}

const char* to_string(OpKind kind) {
    constexpr const char* names[] = {
        "compute",    "loss",           "fill",          "add",        "update",    "norm", "step_end",
        "all_gather", "reduce_scatter", "all_reduce",    "all_to_all", "broadcast", "send", "receive",
        "encode",     "decode",         "decode_reduce", "copy",       "read",      "write"};
    return names[static_cast<int>(kind)];
}

const char* to_string(Direction direction) {
    constexpr const char* names[] = {"",         "forward", "backward", "backward_input", "backward_weight",
                                     "recompute"};
    return names[static_cast<int>(direction)];
}

const char* to_string(Purpose purpose) {
    constexpr const char* names[] = {"none",   "parameters", "secondary", "gradients", "publication",
                                     "tensor", "context",    "pipeline",  "control",   "state"};
    return names[static_cast<int>(purpose)];
}

const char* to_string(Engine engine) {
    constexpr const char* names[] = {"compute",        "collective", "channel",    "host_to_device",
                                     "device_to_host", "nvme_read",  "nvme_write", "host_optimizer"};
    return names[static_cast<int>(engine)];
}

}  // namespace ziggurat::schedule
