#include "schedule/program_json.hpp"

#include <array>
#include <cstdio>

#include "spec/home_text.hpp"

namespace ziggurat::schedule {
namespace {

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

/// Writer of the members of one object.
class Object {
  public:
    void add(const char* key, const std::string& json) {
        text_ += (text_.empty() ? "" : ",") + quoted(key) + ":" + json;
    }
    void add(const char* key, std::int64_t value) { add(key, std::to_string(value)); }
    void add_text(const char* key, const std::string& value) { add(key, quoted(value)); }
    /// Adds the member unless the value is the default.
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
std::string array(const List& list, const Write& write) {
    std::string text;
    for (const auto& item : list) {
        text += (text.empty() ? "" : ",") + write(item);
    }
    return "[" + text + "]";
}

/// Prints another member of an object, with one line for each item.
template <class List, class Write>
void print_array(const char* key, const List& list, const Write& write, const Print& print) {
    print("," + quoted(key) + ":[");
    const char* before = "";
    for (const auto& item : list) {
        print(before + write(item));
        before = ",\n";
    }
    print("]");
}

std::string run_as_json(const ByteRange& run) {
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
    object.add_text("tier", spec::tier_names[buffer.tier]);
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
    object.add_unless(-1, "second_slot", buffer.second_slot);
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
    if (op.predicate) {
        object.add("predicate", operand_as_json(*op.predicate));
    }
    if (op.flops > 0) {
        object.add("flops", number(op.flops));
    }
    object.add("waits_for", array(op.waits_for, plain));
    object.add("waits_for_previous_step", array(op.waits_for_previous_step, plain));
    object.add_text("label", op.label);
    return object.take();
}

}  // namespace

void print_as_json(const Program& program, const Print& print, const std::string& more) {
    Object arenas;
    for (std::size_t t = 0; t < spec::tier_names.size(); ++t) {
        arenas.add(spec::tier_names[t], program.tier_bytes(static_cast<spec::Tier>(t)));
    }
    Object object;
    object.add_text("schema", "ziggurat.program/1");
    object.add_text("variant", to_string(program.variant));
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
    auto head = object.take();
    head.pop_back();  // the closing brace comes last
    print(head);
    print_array("buffers", program.buffers, buffer_as_json, print);
    print_array("ops", program.ops, op_as_json, print);
    print(more.empty() ? "}\n" : "," + more + "}\n");
}

std::string program_as_json(const Program& program) {
    std::string text;
    print_as_json(program, [&](std::string_view part) { text += part; });
    return text;
}

}  // namespace ziggurat::schedule
