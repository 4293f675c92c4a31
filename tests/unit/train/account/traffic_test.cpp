#include "train/account/traffic.hpp"

#include <gtest/gtest.h>

#include <map>

#include "schedule/volumes/volumes.hpp"
#include "tests/support/counted_allocations.hpp"
#include "train/account/accounting_table.hpp"
#include "train/account/accounting_traffic.hpp"

namespace ziggurat::train {
namespace {

using schedule::OpKind;
using schedule::Purpose;

constexpr std::int64_t second = 1'000'000'000;

schedule::Op collective(OpKind kind, Purpose purpose, std::int64_t block_bytes) {
    schedule::Op op;
    op.kind = kind;
    op.purpose = purpose;
    op.group = 0;
    for (int member = 0; member < 4; ++member) {
        op.blocks.push_back({member * block_bytes, block_bytes});
    }
    return op;
}

/// Returns two gathers, a reduction and an op that moves no data, on rank 1 of 4.
schedule::Program some_program() {
    schedule::Program program;
    program.groups.push_back({"data", {0, 1, 2, 3}, 1});
    program.ops.push_back(collective(OpKind::all_gather, Purpose::parameters, 100));
    program.ops.push_back(collective(OpKind::all_gather, Purpose::parameters, 10));
    program.ops.emplace_back();
    program.ops.push_back(collective(OpKind::reduce_scatter, Purpose::gradients, 64));
    return program;
}

std::int64_t at(const schedule::BytesByPurpose& bytes, Purpose purpose) {
    return bytes[static_cast<std::size_t>(purpose)];
}

TEST(Traffic, SetsCountedBesidePlanned) {
    const auto program = some_program();
    std::map<int, std::int64_t> moved;
    Traffic traffic{program, [&](int op) { return moved[op]; }};
    EXPECT_EQ(at(traffic.planned(), Purpose::parameters), 330);
    EXPECT_EQ(at(traffic.planned(), Purpose::gradients), 192);
    for (const auto& [purpose, bytes] : schedule::bytes_sent_by_purpose(program)) {
        EXPECT_EQ(at(traffic.planned(), purpose), bytes);
    }

    moved = {{0, 300}, {1, 30}, {3, 150}};  // the reduction is still in progress
    traffic.count({});
    EXPECT_EQ(traffic.flows().at(1).moved_bytes, 150);
    moved = {{0, 600}, {1, 60}, {3, 340}};
    traffic.count({});
    EXPECT_EQ(traffic.flows().at(0).moved_bytes, 660);
    EXPECT_EQ(traffic.flows().at(1).moved_bytes, 340);
    moved[3] = 384;
    traffic.count({}, false);

    const auto flows = traffic.flows();
    ASSERT_EQ(flows.size(), 2U);
    EXPECT_EQ(flows[0].kind, "all_gather");
    EXPECT_EQ(flows[0].purpose, "parameters");
    EXPECT_EQ(flows[1].steps, 2);
    for (const auto& flow : flows) {
        EXPECT_EQ(flow.moved_bytes, flow.planned_bytes) << flow.purpose;
    }
    schedule::BytesByPurpose all{}, planned{};
    add_up(flows, all, planned);
    EXPECT_EQ(at(all, Purpose::gradients), 384);
    EXPECT_EQ(all, planned);
}

TEST(Traffic, TimesWhatIsNotExcluded) {
    const auto program = some_program();
    std::int64_t moved = 0;
    Traffic traffic{program, [&](int op) { return op == 3 ? moved : 0; }};
    const std::vector<LaneRecord> slow{{.op = 3, .begin_ns = 0, .end_ns = 9 * second},
                                       {.op = 2, .cause = 3, .begin_ns = 0, .end_ns = second}};
    const std::vector<LaneRecord> fast{{.op = 3, .begin_ns = 0, .end_ns = second}};
    for (int step = 0; step < 5; ++step) {
        moved += 192;
        traffic.count(step < 2 ? slow : fast);
    }

    const auto reduction = traffic.flows().at(1);
    EXPECT_EQ(reduction.calls, 5) << "a wait is no call";
    EXPECT_EQ(reduction.moved_bytes, 5 * 192);
    EXPECT_EQ(reduction.timed_bytes, 3 * 192);
    EXPECT_DOUBLE_EQ(reduction.seconds, 3);
}

TEST(Traffic, CountsAMessageOnceWhicheverEndCopiesIt) {
    schedule::Program program;
    program.groups.push_back({"pipeline", {0, 1}, 0});
    program.buffers.resize(1);
    for (const auto kind : {OpKind::send, OpKind::receive}) {
        schedule::Op op;
        op.kind = kind;
        op.purpose = Purpose::pipeline;
        op.group = 0;
        op.peer = 1;
        (kind == OpKind::send ? op.reads : op.writes).push_back({.buffer = 0, .runs = {{0, 512}}});
        program.ops.push_back(op);
    }
    Traffic traffic{program, [](int op) { return op == 1 ? 512 : 0; }};  // both ranks are on one node
    traffic.count({});

    const auto flows = traffic.flows();
    ASSERT_EQ(flows.size(), 1U);
    EXPECT_EQ(flows[0].kind, "send and receive");
    EXPECT_EQ(flows[0].planned_bytes, 512);
    EXPECT_EQ(flows[0].moved_bytes, 512);
}

TEST(Traffic, CountsWithoutAllocating) {
    const auto program = some_program();
    Traffic traffic{program, [](int) { return 0; }};
    const std::vector<LaneRecord> records{{.op = 3, .begin_ns = 0, .end_ns = second}};
    const test::CountedAllocations counted;
    for (int step = 0; step < 5; ++step) {
        traffic.count(records);
    }
    EXPECT_EQ(counted.allocations(), 0);
}

AccountRecord record_with(Flow flow) {
    AccountRecord record;
    record.first_step = 1;
    record.last_step = 2;
    record.wall_seconds = 1;
    record.flows = {std::move(flow)};
    return record;
}

TEST(TrafficTable, ShowsTheRankThatMovesMostAndWarnsOfDifferences) {
    const Flow planned{.kind = "all_gather",
                       .purpose = "parameters",
                       .calls = 4,
                       .planned_bytes = 660,
                       .moved_bytes = 660,
                       .steps = 2,
                       .seconds = 1e-6,
                       .timed_bytes = 2000};
    Flow differs = planned;
    differs.moved_bytes = 661;
    Flow makes_up = planned;
    makes_up.moved_bytes = 659;

    EXPECT_EQ(traffic_table(std::vector{record_with(planned), record_with(planned)}), R"(
 Collectives                   calls/step planned B/step counted B/step  (rank)  diff. B    GB/s
 -----------------------------------------------------------------------------------------------
 all_gather of parameters               2            330            330     (0)        0    2.00
 -----------------------------------------------------------------------------------------------
)");
    EXPECT_EQ(traffic_table(std::vector{record_with(planned), record_with(differs)}), R"(
 Collectives                   calls/step planned B/step counted B/step  (rank)  diff. B    GB/s
 -----------------------------------------------------------------------------------------------
 all_gather of parameters               2            330          330.5     (1)        1    2.00
 -----------------------------------------------------------------------------------------------
 WARNING  all_gather of parameters: 1321 bytes moved by all ranks, 1320 planned. This is a bug in Ziggurat.
          Please report it with the deck.
)");
    EXPECT_EQ(traffic_table(std::vector{record_with(makes_up), record_with(differs)}).find("WARNING"),
              std::string::npos)
        << "ranks of uneven nodes share the work unevenly";
    EXPECT_NE(account_table(std::vector{record_with(differs)}, 0).find("WARNING"), std::string::npos);
    EXPECT_EQ(traffic_table(std::vector{AccountRecord{}}), "");
}

}  // namespace
}  // namespace ziggurat::train
