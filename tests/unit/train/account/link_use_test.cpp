#include "train/account/link_use.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/counted_allocations.hpp"
#include "train/account/accounting_links.hpp"
#include "train/account/accounting_table.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;
using schedule::Link;
using schedule::OpKind;

constexpr std::int64_t second = 1'000'000'000;

/// Returns two reads and a write of one page, and a copy of 100 bytes.
schedule::Program some_program() {
    schedule::Program program;
    const auto add = [&](OpKind kind, Engine engine, std::int64_t bytes) {
        schedule::Op op;
        op.kind = kind;
        op.lane = program.lane(engine);
        op.reads.push_back({0, schedule::Role::input, {{0, bytes}}});
        program.ops.push_back(op);
    };
    add(OpKind::read, Engine::nvme_read, 4096);
    add(OpKind::read, Engine::nvme_read, 10);
    add(OpKind::write, Engine::nvme_write, 4096);
    add(OpKind::copy, Engine::host_to_device, 100);
    program.ops.emplace_back();
    program.ops.back().lane = program.lane(Engine::compute);
    return program;
}

std::int64_t at(const schedule::BytesByLink& bytes, Link link) {
    return bytes[static_cast<std::size_t>(link)];
}

TEST(LinkCount, SetsCountedBesidePlanned) {
    std::map<int, std::int64_t> moved;
    LinkCount count{some_program(), [&](int op) { return moved[op]; }};
    EXPECT_EQ(at(count.planned(), Link::nvme_read), 8192);
    EXPECT_EQ(at(count.planned(), Link::host_to_device), 100);

    moved = {{0, 4096}, {1, 4096}, {2, 0}, {3, 100}};  // the write is still in progress
    count.count({});
    EXPECT_EQ(count.uses().at(0).moved_bytes, 8192);
    EXPECT_EQ(count.uses().at(1).moved_bytes, 0);
    moved[2] = 4096;
    count.count({}, false);

    const auto uses = count.uses();
    ASSERT_EQ(uses.size(), 3U) << "nothing leaves the device";
    for (const auto& use : uses) {
        EXPECT_EQ(use.moved_bytes, use.planned_bytes) << use.link;
    }
    schedule::BytesByLink all{}, planned{};
    add_up(uses, all, planned);
    EXPECT_EQ(all, planned);
    EXPECT_EQ(at(all, Link::nvme_read), 8192);
}

TEST(LinkCount, PlansOpsWithAPredicateAsOftenAsTheyRan) {
    auto program = some_program();
    program.ops[1].predicate = schedule::Operand{0, schedule::Role::update_inputs, {{0, 8}}};
    std::map<int, std::int64_t> moved{{0, 2 * 4096}, {1, 4096}, {2, 2 * 4096}, {3, 200}};
    LinkCount count{program, [&](int op) { return moved[op]; }, {}, [](int op) { return op == 1 ? 1 : 2; }};
    EXPECT_EQ(at(count.planned(), Link::nvme_read), 4096) << "most steps do not run it";
    count.count({});
    count.count({});

    for (const auto& use : count.uses()) {
        EXPECT_EQ(use.moved_bytes, use.planned_bytes) << use.link;
        EXPECT_EQ(use.redone_bytes, use.link == "nvme_read" ? 4096 : 0);
    }
}

/// Returns the records of a step that begins at `at` seconds.
std::vector<LaneRecord> step_at(std::int64_t at) {
    const auto op = [&](int index, std::int64_t ready, std::int64_t begin, std::int64_t end) {
        return LaneRecord{index, -1, 0, (at + begin) * second, (at + end) * second, (at + ready) * second,
                          -1};
    };
    // Concurrent reads. The write could have begun at 3, and for two seconds no other transfer is in
    // progress.
    return {op(0, 0, 0, 2), op(1, 1, 1, 4), op(2, 3, 6, 7)};
}

TEST(LinkCount, IsBusyOnceWhereOpsOverlapAndKnowsIdleDisks) {
    LinkCount count{some_program(), [](int) { return 0; }};
    constexpr int steps = 5;
    for (int step = 0; step < steps; ++step) {
        count.count(step_at(1 + 10 * step));
    }
    count.count({}, false);

    const auto reads = count.uses().front();
    EXPECT_EQ(reads.calls, 2 * steps);
    EXPECT_DOUBLE_EQ(reads.busy_seconds, 4.0 * (steps - 2)) << "without the first two steps";
    EXPECT_DOUBLE_EQ(count.idle_disk_seconds(), 2.0 * (steps - 2) + 2.0)
        << "waits are settled one step after they were seen";
}

TEST(LinkCount, IsBusyFromTheFirstBeginOnWhateverEndsFirst) {
    LinkCount count{some_program(), [](int) { return 0; }};
    for (const std::int64_t at : {0, 10, 20}) {
        auto records = step_at(at);  // reads at 0 to 2 and 1 to 4
        records[0].end_ns = records[1].end_ns + second;
        std::swap(records[0], records[1]);  // order of their ends
        count.count(records);
    }

    EXPECT_DOUBLE_EQ(count.uses().front().busy_seconds, 5.0) << "without the first two steps";
}

TEST(LinkCount, CountsWithoutAllocating) {
    LinkCount count{some_program(), [](int) { return 0; }};
    const auto records = step_at(1);
    const test::CountedAllocations counted;
    for (int step = 0; step < 5; ++step) {
        count.count(records);
    }
    EXPECT_EQ(counted.allocations(), 0);
}

AccountRecord record_with(LinkUse use) {
    AccountRecord record;
    record.first_step = 1;
    record.last_step = 2;
    record.wall_seconds = 4;
    record.idle_disk_seconds = 0.1;
    record.links = {std::move(use)};
    return record;
}

TEST(LinkTable, ShowsTheRankThatMovesMostAndWarnsOfDifferences) {
    const LinkUse planned{.link = "nvme_read",
                          .calls = 4,
                          .planned_bytes = 16384,
                          .moved_bytes = 16384,
                          .steps = 2,
                          .busy_seconds = 1,
                          .timed_bytes = 2'000'000'000};
    LinkUse differs = planned;
    differs.moved_bytes += 4096;

    EXPECT_EQ(link_table(std::vector{record_with(planned), record_with(planned)}), R"(
 Between tiers         calls/step planned B/step counted B/step  (rank)  diff. B    GB/s  busy %
 -----------------------------------------------------------------------------------------------
 nvme_read                      2           8192           8192     (0)        0    2.00    25.0
 -----------------------------------------------------------------------------------------------
 NVMe idle for 2.5% of the time although a transfer was ready (rank 0)
)");
    const auto table = account_table(std::vector{record_with(planned), record_with(differs)}, 0);
    EXPECT_NE(table.find("10240     (1)     4096"), std::string::npos) << table;
    EXPECT_NE(table.find("WARNING"), std::string::npos) << table;
    EXPECT_EQ(link_table(std::vector{AccountRecord{}}), "");
}

}  // namespace
}  // namespace ziggurat::train
