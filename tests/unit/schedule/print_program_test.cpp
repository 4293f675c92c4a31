#include "schedule/print_program.hpp"
#include "schedule/program_json.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/build_program.hpp"
#include "schedule/op_selection.hpp"
#include "tests/support/random/random_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns true if brackets and quotes of a JSON text are balanced, inside and outside of strings.
bool is_balanced(const std::string& json) {
    std::string open;
    bool in_text = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (in_text) {
            i += c == '\\' ? 1 : 0;
            in_text = c != '"';
        } else if (c == '"') {
            in_text = true;
        } else if (c == '{' || c == '[') {
            open += c;
        } else if (c == '}' || c == ']') {
            if (open.empty() || open.back() != (c == '}' ? '{' : '[')) {
                return false;
            }
            open.pop_back();
        }
    }
    return open.empty() && !in_text;
}

Program small_program() {
    Program program;
    program.rank = 1;
    program.lane(Engine::compute);
    const int group = program.group("data", {1, 3});
    Buffer buffer;
    buffer.name = "a \"quoted\"\nname";
    buffer.bytes = 2048;
    buffer.offset = 64;
    const int b = program.add_buffer(buffer);
    program.arena_bytes[0] = 4096;
    Op made;
    made.label = "makes it";
    made.writes.push_back(whole(program, b, Role::output));
    program.ops.push_back(made);
    Op reduced;
    reduced.kind = OpKind::all_reduce;
    reduced.purpose = Purpose::gradients;
    reduced.group = group;
    reduced.lane = program.lane(Engine::collective, group);
    reduced.label = "sums it";
    reduced.blocks = {{0, 1024}, {1024, 1024}};
    reduced.reads.push_back(whole(program, b, Role::input));
    reduced.writes.push_back(whole(program, b, Role::output));
    reduced.waits_for = {0};
    program.ops.push_back(reduced);
    program.ops.front().waits_for_previous_step = {1};
    return program;
}

std::string text_of_ops(const Program& program, const std::vector<int>& ops) {
    std::string text;
    print_ops(program, ops, [&](std::string_view part) { text += part; });
    return text;
}

TEST(PrintProgram, ShowsOpsOperandsAndWaits) {
    const auto program = small_program();
    const auto text = print_totals(program) + text_of_ops(program, {0, 1});

    EXPECT_NE(text.find("program   train, rank 1, 1 micro-batches, 2 ops"), std::string::npos) << text;
    EXPECT_NE(text.find("gradients 2 KiB;"), std::string::npos) << text;
    EXPECT_NE(text.find("device 4 KiB;"), std::string::npos) << text;
    EXPECT_NE(text.find("group     data: 1 3"), std::string::npos) << text;
    EXPECT_NE(text.find("     0  compute"), std::string::npos) << text;
    EXPECT_NE(text.find("  waits: -1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("collective[data]  sums it   all_reduce  input="), std::string::npos) << text;
    EXPECT_NE(text.find("  waits: 0\n"), std::string::npos) << text;
}

TEST(PrintProgram, WritesTheJsonOfItsSchema) {
    const auto json = program_as_json(small_program());

    EXPECT_TRUE(is_balanced(json)) << json;
    EXPECT_NE(json.find(R"("schema":"ziggurat.program/1","variant":"train","rank":1)"), std::string::npos);
    EXPECT_NE(json.find(R"("name":"a \"quoted\"\u000aname")"), std::string::npos) << json;
    EXPECT_NE(json.find(R"("kind":"all_reduce","lane":1,"purpose":"gradients","group":0,"payload":"f32",)"
                        R"("blocks":[[0,1024],[1024,1024]])"),
              std::string::npos)
        << json;
    EXPECT_NE(json.find(R"("waits_for":[0],"waits_for_previous_step":[],"label":"sums it")"),
              std::string::npos);
}

TEST(PrintProgram, KeepsNoMoreThanALine) {
    auto program = small_program();
    program.ops.resize(1000, program.ops.back());
    program.buffers.resize(1000, program.buffers.back());
    std::size_t max = 0;
    const auto print = [&](std::string_view part) { max = std::max(max, part.size()); };

    print_ops(program, select_ops(program, {}, {}), print);
    print_as_json(program, print);

    EXPECT_LT(max, 1000U) << "of a text of " << program_as_json(program).size() << " bytes";
}

TEST(PrintProgram, PrintsEveryOpOfEveryRun) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto program = build_program(test::random_spec(seed), 0, Variant::train);

        const auto text = text_of_ops(program, select_ops(program, {}, {}));

        EXPECT_TRUE(is_balanced(program_as_json(program))) << "seed " << seed;
        EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), program.ops.size());
    }
}

}  // namespace
}  // namespace ziggurat::schedule
