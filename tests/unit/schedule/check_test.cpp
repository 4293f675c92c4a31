#include "schedule/verify/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ziggurat::schedule {
namespace {

/// A compute lane and a copy lane that hand a buffer to each other.
Program handing_over() {
    Program program;
    const int compute = program.lane(Engine::compute);
    const int copies = program.lane(Engine::host_to_device);
    Buffer buffer;
    buffer.name = "handed over";
    buffer.bytes = 64;
    buffer.offset = 0;
    const int b = program.add_buffer(buffer);
    program.arena_bytes[0] = 64;
    Op fetch;
    fetch.kind = OpKind::copy;
    fetch.lane = copies;
    fetch.label = "fetch";
    fetch.writes.push_back(whole(program, b, Role::output));
    fetch.waits_for_previous_step = {1};
    Op use;
    use.lane = compute;
    use.label = "use";
    use.reads.push_back(whole(program, b, Role::input));
    use.waits_for = {0};
    program.ops = {fetch, use};
    return program;
}

std::vector<FindingKind> kinds(const std::vector<Finding>& findings) {
    std::vector<FindingKind> found;
    for (const auto& finding : findings) {
        found.push_back(finding.kind);
    }
    return found;
}

using Kinds = std::vector<FindingKind>;

TEST(CheckProgram, HasNothingToSayOfASoundOne) {
    EXPECT_TRUE(check_program(handing_over()).empty());
}

TEST(CheckProgram, FindsAReadThatDoesNotWait) {
    auto program = handing_over();
    program.ops[1].waits_for.clear();

    const auto findings = check_program(program);

    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.front().kind, FindingKind::race);
    EXPECT_NE(findings.front().text.find("op 1 'use' reads what is written by op 0 'fetch'"),
              std::string::npos)
        << findings.front().text;
}

TEST(CheckProgram, FindsAWriteThatDoesNotWaitForTheStepBefore) {
    auto program = handing_over();
    program.ops[0].waits_for_previous_step.clear();

    const auto findings = check_program(program);

    ASSERT_FALSE(findings.empty());
    EXPECT_NE(findings.front().text.find("writes what is read by op 1 'use' of the step before"),
              std::string::npos)
        << findings.front().text;
}

TEST(CheckProgram, FindsTwoBuffersInOnePlaceWithoutAnOrder) {
    auto program = handing_over();
    auto other = program.buffers[0];
    other.name = "other";
    other.offset = 32;
    other.bytes = 32;
    const int b = program.add_buffer(other);
    Op op;
    op.lane = program.lane(Engine::device_to_host);
    op.label = "intrudes";
    op.writes.push_back(whole(program, b, Role::output));
    program.ops.push_back(op);

    const auto findings = check_program(program);

    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.kind == FindingKind::race && finding.text.find("intrudes") != std::string::npos;
    }));
}

TEST(CheckProgram, FindsWaitsForwardInTheList) {
    auto program = handing_over();
    program.ops[0].waits_for = {1};

    EXPECT_EQ(kinds(check_program(program)), Kinds{FindingKind::malformed});
}

TEST(CheckProgram, FindsOperandsOutsideOfTheirBuffer) {
    auto program = handing_over();
    program.ops[1].reads[0].runs[0].bytes = 65;

    EXPECT_EQ(kinds(check_program(program)), Kinds{FindingKind::memory});
}

TEST(CheckProgram, FindsBuffersOutsideOfTheirArenaAndArenasAboveTheBudget) {
    auto program = handing_over();
    EXPECT_EQ(kinds(check_program(program, {{63, 0, 0}})), Kinds{FindingKind::memory});
    EXPECT_TRUE(check_program(program, {{64, 0, 0}}).empty());

    program.arena_bytes[0] = 63;
    EXPECT_EQ(kinds(check_program(program)), Kinds{FindingKind::memory});
}

TEST(CheckProgram, FindsALeaseThatNobodyUses) {
    auto program = handing_over();
    program.buffers[0].state = StateKind::parameters;
    EXPECT_TRUE(check_program(program).empty());

    program.ops.pop_back();
    program.ops[0].waits_for_previous_step.clear();
    EXPECT_EQ(kinds(check_program(program)), Kinds{FindingKind::lease});
}

TEST(CheckProgram, FindsAGroupOnTwoLanes) {
    auto program = handing_over();
    const int group = program.group("data", {0});
    for (auto& op : program.ops) {
        op.group = group;
    }

    EXPECT_EQ(kinds(check_program(program)), Kinds{FindingKind::malformed});
}

}  // namespace
}  // namespace ziggurat::schedule
