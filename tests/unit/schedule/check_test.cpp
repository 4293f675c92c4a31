#include "schedule/verify/check_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ziggurat::schedule {
namespace {

/// Returns a program in which a compute lane and a copy lane pass a buffer to each other.
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

TEST(CheckProgram, FindsAPredicateThatOtherRanksNeedNotShare) {
    auto program = handing_over();
    Buffer flags;
    flags.name = "flags";
    flags.tier = spec::Tier::host;
    flags.bytes = 64;
    flags.offset = 0;
    flags.lifetime = Lifetime::inputs;
    program.arena_bytes[1] = 64;
    const int b = program.add_buffer(flags);
    program.ops[1].kind = OpKind::all_reduce;
    program.ops[1].predicate = whole(program, b, Role::update_inputs);
    EXPECT_TRUE(check_program(program).empty());

    program.ops[1].predicate = whole(program, b, Role::losses);
    EXPECT_EQ(kinds(check_program(program)), Kinds{FindingKind::malformed});
}

/// Returns one op on the lane of an engine, with an operand of one kind in `tier` and the rest correct.
Program one_op(Engine engine, OpKind kind, spec::Tier reads, spec::Tier writes, Lifetime lifetime) {
    Program program;
    Op op;
    op.kind = kind;
    op.lane = program.lane(engine);
    op.label = "misplaced";
    const auto operand = [&](spec::Tier tier, Role role) {
        Buffer buffer;
        buffer.name = to_string(role);
        buffer.tier = tier;
        buffer.bytes = 4096;
        buffer.lifetime = lifetime;
        auto& end = program.arena_bytes[static_cast<std::size_t>(tier)];
        buffer.offset = end;
        end += buffer.bytes;
        return whole(program, program.add_buffer(buffer), role);
    };
    op.reads.push_back(operand(reads, Role::step_inputs));
    op.writes.push_back(operand(writes, Role::exact_sums));
    op.waits_for_previous_step = {0};
    program.ops.push_back(std::move(op));
    return program;
}

struct Place {
    Engine engine;
    OpKind kind;
    spec::Tier reads;
    spec::Tier writes;
};

constexpr auto device = spec::Tier::device;
constexpr auto host = spec::Tier::host;
constexpr auto nvme = spec::Tier::nvme;
constexpr Place positions[] = {
    {Engine::compute, OpKind::compute, device, device},
    {Engine::compute, OpKind::loss, device, device},
    {Engine::compute, OpKind::fill, device, device},
    {Engine::compute, OpKind::add, device, device},
    {Engine::compute, OpKind::norm, device, device},
    {Engine::compute, OpKind::update, device, device},
    {Engine::compute, OpKind::copy, device, device},
    {Engine::host_optimizer, OpKind::fill, host, host},
    {Engine::host_optimizer, OpKind::add, host, host},
    {Engine::host_optimizer, OpKind::norm, host, host},
    {Engine::host_optimizer, OpKind::update, host, host},
    {Engine::step_end, OpKind::step_end, host, host},
    {Engine::host_to_device, OpKind::copy, host, device},
    {Engine::device_to_host, OpKind::copy, device, host},
    {Engine::nvme_read, OpKind::read, nvme, host},
    {Engine::nvme_write, OpKind::write, host, nvme},
    {Engine::collective, OpKind::all_gather, device, device},
    {Engine::collective, OpKind::reduce_scatter, device, device},
    {Engine::collective, OpKind::all_reduce, device, device},
    {Engine::channel, OpKind::send, device, device},
    {Engine::channel, OpKind::receive, device, device},
};

TEST(CheckProgram, RefusesEveryOperandOnAnotherTierThanThatOfItsOp) {
    for (const auto& position : positions) {
        for (const auto lifetime : {Lifetime::persistent, Lifetime::transient, Lifetime::inputs}) {
            for (const auto tier : {device, host, nvme}) {
                const auto what = std::string{to_string(position.kind)} + " on " +
                                  to_string(position.engine) + ", " + to_string(lifetime) + ", " +
                                  std::to_string(static_cast<int>(tier));
                const auto reads = one_op(position.engine, position.kind, tier, position.writes, lifetime);
                const auto writes = one_op(position.engine, position.kind, position.reads, tier, lifetime);
                EXPECT_EQ(kinds(check_program(reads)),
                          tier == position.reads ? Kinds{} : Kinds{FindingKind::memory})
                    << "reads of " << what;
                EXPECT_EQ(kinds(check_program(writes)),
                          tier == position.writes ? Kinds{} : Kinds{FindingKind::memory})
                    << "writes of " << what;
            }
        }
    }
}

}  // namespace
}  // namespace ziggurat::schedule
