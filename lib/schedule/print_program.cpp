#include "schedule/print_program.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "schedule/volumes/link_traffic.hpp"
#include "schedule/volumes/volumes.hpp"
#include "spec/home_text.hpp"

namespace ziggurat::schedule {
namespace {

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

/// Returns bytes with a unit, with three digits.
std::string size(std::int64_t bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); ++unit) {
        value /= 1024;
    }
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), unit == 0 || value >= 100 ? "%.0f %s" : "%.3g %s", value,
                  units[unit]);
    return text.data();
}

std::string operands(const Program& program, const std::vector<Operand>& list) {
    std::string text;
    for (const auto& operand : list) {
        const auto& buffer = program.buffers.at(operand.buffer);
        text += text.empty() ? "" : ", ";
        text += std::string{to_string(operand.role)} + "=" + buffer.name;
        if (operand.bytes() != buffer.bytes) {
            text += "[" + size(operand.bytes()) + " at " +
                    std::to_string(operand.runs.empty() ? 0 : operand.runs.front().offset) + "]";
        } else {
            text += "[" + size(buffer.bytes) + "]";
        }
    }
    return text;
}

std::string waits(const Op& op) {
    std::string text;
    for (const int w : op.waits_for) {
        text += " " + std::to_string(w);
    }
    for (const int w : op.waits_for_previous_step) {
        text += " -" + std::to_string(w);
    }
    return text.empty() ? text : "  waits:" + text;
}

void append_summary(const Program& program, std::string& text) {
    std::map<std::string, int> kinds;
    for (const auto& op : program.ops) {
        ++kinds[to_string(op.kind)];
    }
    text += "program   " + std::string{to_string(program.variant)} + ", rank " +
            std::to_string(program.rank) + ", " + std::to_string(program.microbatches) + " micro-batches" +
            (program.is_by_layer ? " by layer, " : ", ") + std::to_string(program.ops.size()) +
            " ops\nops      ";
    for (const auto& [kind, count] : kinds) {
        text += " " + kind + " " + std::to_string(count) + ";";
    }
    text += "\nsent     ";
    for (const auto& [purpose, bytes] : bytes_sent_by_purpose(program)) {
        text += std::string{" "} + to_string(purpose) + " " + size(bytes) + ";";
    }
    text += "\ncontrol  ";
    const auto control = control_bytes_by_link(program);
    for (int link = 0; link < num_links; ++link) {
        if (const auto bytes = control[link]; bytes > 0) {
            text += std::string{" "} + to_string(static_cast<Link>(link)) + " " + size(bytes) + ";";
        }
    }
    text += "\narenas   ";
    for (std::size_t t = 0; t < spec::tier_names.size(); ++t) {
        text += std::string{" "} + spec::tier_names[t] + " " +
                size(program.tier_bytes(static_cast<spec::Tier>(t))) + ";";
    }
    text += "\n";
}

}  // namespace

std::string print_totals(const Program& program) {
    std::string text;
    append_summary(program, text);
    for (const auto& group : program.groups) {
        text += "group     " + group.name + ":";
        for (const int member : group.members) {
            text += ' ';
            text += std::to_string(member);
        }
        text += "\n";
    }
    return text;
}

void print_ops(const Program& program, const std::vector<int>& ops, const Print& print) {
    std::size_t lane_width = 0;
    std::size_t label_width = 0;
    for (const int i : ops) {
        const auto& op = program.ops.at(i);
        lane_width = std::max(lane_width, program.lanes.at(op.lane).name.size());
        label_width = std::max(label_width, op.label.size());
    }
    label_width = std::min<std::size_t>(label_width, 48);
    for (const int i : ops) {
        const auto& op = program.ops[i];
        const auto index = std::to_string(i);
        print(std::string(index.size() < 6 ? 6 - index.size() : 0, ' ') + index + "  " +
              padded(program.lanes[op.lane].name, lane_width) + "  " + padded(op.label, label_width) + "  " +
              to_string(op.kind) + (op.accumulate ? "+" : "") + "  " + operands(program, op.reads) + " -> " +
              operands(program, op.writes) + waits(op) + "\n");
    }
}

}  // namespace ziggurat::schedule
