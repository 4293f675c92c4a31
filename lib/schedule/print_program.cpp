#include "schedule/print_program.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "schedule/volumes/link_traffic.hpp"
#include "schedule/volumes/volumes.hpp"

namespace ziggurat::schedule {
namespace {

constexpr std::array tier_names{"device", "host", "nvme"};

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

/// Bytes with a unit, to three digits.
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
        const auto& buffer = program.buffers.at(static_cast<std::size_t>(operand.buffer));
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
    text += "program   " + std::string{program.variant == Variant::train ? "train" : "evaluate"} + ", rank " +
            std::to_string(program.rank) + ", " + std::to_string(program.microbatches) + " micro-batches, " +
            std::to_string(program.ops.size()) + " ops\nops      ";
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
        if (const auto bytes = control[static_cast<std::size_t>(link)]; bytes > 0) {
            text += std::string{" "} + to_string(static_cast<Link>(link)) + " " + size(bytes) + ";";
        }
    }
    text += "\narenas   ";
    for (std::size_t t = 0; t < tier_names.size(); ++t) {
        text += std::string{" "} + tier_names[t] + " " +
                size(program.tier_bytes(static_cast<spec::Tier>(t))) + ";";
    }
    text += "\n";
}

// ---------------------------------------------------------------- JSON

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 8> code{};
            std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
            out += code.data();
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string number(double value) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.17g", value);
    return text.data();
}

/// Writes the members of one object.
class Object {
  public:
    void add(const char* key, const std::string& json) {
        text_ += (text_.empty() ? "" : ",") + quoted(key) + ":" + json;
    }
    void add(const char* key, std::int64_t value) { add(key, std::to_string(value)); }
    void add_text(const char* key, const std::string& value) { add(key, quoted(value)); }
    /// Nothing when the value is the default.
    void add_unless(std::int64_t usual, const char* key, std::int64_t value) {
        if (value != usual) {
            add(key, value);
        }
    }
    std::string take() const { return "{" + text_ + "}"; }

  private:
    std::string text_;
};

template <class List, class Write>
std::string array(const List& list, const Write& write, const char* separator = ",") {
    std::string text;
    for (const auto& item : list) {
        text += (text.empty() ? "" : separator) + write(item);
    }
    return "[" + text + "]";
}

std::string run_as_json(const ByteRun& run) {
    return "[" + std::to_string(run.offset) + "," + std::to_string(run.bytes) + "]";
}

std::string operand_as_json(const Operand& operand) {
    Object object;
    object.add("buffer", operand.buffer);
    object.add_text("role", to_string(operand.role));
    object.add("runs", array(operand.runs, run_as_json));
    return object.take();
}

const char* type_name(spec::DType type) {
    return type == spec::DType::f32 ? "f32" : "bf16";
}

std::string buffer_as_json(const Buffer& buffer) {
    Object object;
    object.add_text("name", buffer.name);
    object.add_text("tier", tier_names[static_cast<std::size_t>(buffer.tier)]);
    object.add("bytes", buffer.bytes);
    object.add_text("lifetime", to_string(buffer.lifetime));
    object.add_text("state", to_string(buffer.state));
    object.add_text("consumer", to_string(buffer.consumer));
    object.add("unit", buffer.unit);
    object.add("microbatch", buffer.microbatch);
    object.add("first_element", buffer.first_element);
    object.add_text("type", type_name(buffer.type));
    object.add("shared", buffer.is_shared ? 1 : 0);
    object.add("offset", buffer.offset);
    return object.take();
}

std::string op_as_json(const Op& op) {
    const auto plain = [](int value) { return std::to_string(value); };
    Object object;
    object.add_text("kind", to_string(op.kind));
    object.add("lane", op.lane);
    if (op.direction != Direction::none) {
        object.add_text("direction", to_string(op.direction));
    }
    if (op.purpose != Purpose::none) {
        object.add_text("purpose", to_string(op.purpose));
    }
    object.add_unless(-1, "unit", op.unit);
    object.add_unless(-1, "phase", op.phase);
    object.add_unless(-1, "microbatch", op.microbatch);
    if (op.row_end > 0) {
        object.add("rows", "[" + std::to_string(op.row_begin) + "," + std::to_string(op.row_end) + "]");
    }
    if (op.accumulate) {
        object.add("accumulate", std::string{"true"});
    }
    object.add_unless(-1, "chunk", op.chunk);
    object.add_unless(-1, "group", op.group);
    object.add_unless(-1, "peer", op.peer);
    object.add_unless(0, "tag", op.tag);
    if (op.group >= 0) {
        object.add_text("payload", type_name(op.payload));
    }
    if (!op.blocks.empty()) {
        object.add("blocks", array(op.blocks, run_as_json));
    }
    object.add("reads", array(op.reads, operand_as_json));
    object.add("writes", array(op.writes, operand_as_json));
    if (op.flops > 0) {
        object.add("flops", number(op.flops));
    }
    object.add("waits_for", array(op.waits_for, plain));
    object.add("waits_for_previous_step", array(op.waits_for_previous_step, plain));
    object.add_text("label", op.label);
    return object.take();
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

std::string print_ops(const Program& program, const std::vector<int>& ops) {
    std::string text;
    std::size_t lane_width = 0;
    std::size_t label_width = 0;
    for (const int i : ops) {
        const auto& op = program.ops.at(static_cast<std::size_t>(i));
        lane_width = std::max(lane_width, program.lanes.at(static_cast<std::size_t>(op.lane)).name.size());
        label_width = std::max(label_width, op.label.size());
    }
    label_width = std::min<std::size_t>(label_width, 48);
    for (const int i : ops) {
        const auto& op = program.ops[static_cast<std::size_t>(i)];
        const auto index = std::to_string(i);
        text += std::string(index.size() < 6 ? 6 - index.size() : 0, ' ') + index + "  " +
                padded(program.lanes[static_cast<std::size_t>(op.lane)].name, lane_width) + "  " +
                padded(op.label, label_width) + "  " + to_string(op.kind) + (op.accumulate ? "+" : "") +
                "  " + operands(program, op.reads) + " -> " + operands(program, op.writes) + waits(op) + "\n";
    }
    return text;
}

std::string program_as_json(const Program& program) {
    Object arenas;
    for (std::size_t t = 0; t < tier_names.size(); ++t) {
        arenas.add(tier_names[t], program.tier_bytes(static_cast<spec::Tier>(t)));
    }
    Object object;
    object.add_text("schema", "ziggurat.program/1");
    object.add_text("variant", program.variant == Variant::train ? "train" : "evaluate");
    object.add("rank", program.rank);
    object.add("microbatches", program.microbatches);
    object.add("arena_bytes", arenas.take());
    object.add("lanes", array(program.lanes, [](const Lane& lane) {
                   Object one;
                   one.add_text("name", lane.name);
                   one.add_text("engine", to_string(lane.engine));
                   one.add("group", lane.group);
                   one.add_text("direction", to_string(lane.direction));
                   one.add("serves_updates", lane.serves_updates);
                   return one.take();
               }));
    object.add("groups", array(program.groups, [](const Group& group) {
                   Object one;
                   one.add_text("name", group.name);
                   one.add("members", array(group.members, [](int m) { return std::to_string(m); }));
                   one.add("my_index", group.my_index);
                   return one.take();
               }));
    object.add("buffers", array(program.buffers, buffer_as_json, ",\n"));
    object.add("ops", array(program.ops, op_as_json, ",\n"));
    return object.take() + "\n";
}

}  // namespace ziggurat::schedule
