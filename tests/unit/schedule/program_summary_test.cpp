#include "schedule/program_summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/build_program.hpp"
#include "schedule/op_selection.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

const std::vector<std::string> units{"embedding", "layers.0", "layers.1", "layers.2", "head"};

/// Returns three layers on two ranks.
Program three_layers() {
    auto spec = test::small_spec("llama", 2);
    spec.model.layers = 3;
    spec.sharding.parameters = spec.sharding.gradients = spec.sharding.optimizer = 2;
    spec.sharding.reduce = spec::ReducePlan::by_span;
    return build_program(spec, 0, Variant::train);
}

TEST(ProgramSummary, CountsEveryOpOnce) {
    const auto program = three_layers();

    const auto work = work_by_unit(program, units);

    int ops = 0;
    double flops = 0;
    std::int64_t sent = 0;
    for (const auto& unit : work) {
        for (const auto& lane : unit.lanes) {
            ops += lane.ops();
            flops += lane.flops;
            sent += lane.lane.starts_with("collective") ? lane.bytes : 0;
        }
    }
    double all_flops = 0;
    for (const auto& op : program.ops) {
        all_flops += op.flops;
    }
    std::int64_t all_sent = 0;
    for (const auto& [purpose, bytes] : bytes_sent_by_purpose(program)) {
        all_sent += bytes;
    }
    EXPECT_EQ(ops, static_cast<int>(program.ops.size()));
    EXPECT_DOUBLE_EQ(flops, all_flops);
    EXPECT_GT(sent, 0);
    EXPECT_EQ(sent, all_sent);
}

TEST(ProgramSummary, NamesUnitsOnceAndJoinsWhatIsAlike) {
    LaneWork compute{.lane = "compute", .kinds = {{"compute", 3}, {"fill", 1}}, .bytes = 2048, .flops = 4000};
    LaneWork sends{.lane = "collective[data]", .kinds = {{"all_gather", 1}}, .bytes = 0, .flops = 0};
    LaneWork other = compute;
    other.bytes = 1024;

    EXPECT_EQ(
        work_table({{"embedding", {other}},
                    {"layers.0", {compute, sends}},
                    {"layers.1", {compute, sends}},
                    {"head", {other}}}),
        "unit                        lane               ops       bytes        FLOP  of kind\n"
        "embedding                   compute              4    1.00 KiB       4.00k  compute 3, fill 1\n"
        "layers.0 to layers.1, each  compute              4    2.00 KiB       4.00k  compute 3, fill 1\n"
        "                            collective[data]     1           -           -  all_gather 1\n"
        "head                        compute              4    1.00 KiB       4.00k  compute 3, fill 1\n");
}

TEST(OpSelection, TakesWhatIsAllThatIsAsked) {
    const auto program = three_layers();
    const auto count = [&](const OpSelection& selection) {
        return select_ops(program, units, selection).size();
    };

    EXPECT_EQ(count({}), program.ops.size());
    std::size_t of_units = 0;
    for (const auto& unit : choices_of(program, units).units) {
        EXPECT_GT(count({.unit = unit}), 0U) << unit;
        of_units += count({.unit = unit});
    }
    EXPECT_EQ(of_units, program.ops.size());
    for (const int position :
         select_ops(program, units, {.unit = "layers.1", .lane = "collective", .kind = "all_gather"})) {
        const auto& op = program.ops[static_cast<std::size_t>(position)];
        EXPECT_EQ(op.unit, 2);
        EXPECT_EQ(op.kind, OpKind::all_gather);
    }
    EXPECT_GT(count({.unit = "layers.1", .lane = "collective", .kind = "all_gather"}), 0U);
    EXPECT_EQ(count({.lane = "compute", .kind = "all_gather"}), 0U);
    EXPECT_EQ(select_ops(program, units, {.range = {{2, 4}}}), (std::vector<int>{2, 3, 4}));
    EXPECT_EQ(count({.unit = "step"}) > 0, true) << "the optimizer's ops of all units";
}

TEST(OpSelection, KnowsWhatThereIs) {
    const auto there = choices_of(three_layers(), units);

    EXPECT_EQ(std::set<std::string>(there.units.begin(), there.units.end()),
              (std::set<std::string>{"step", "embedding", "layers.0", "layers.1", "layers.2", "head"}));
    for (const char* lane : {"compute", "collective", "collective[data]"}) {
        EXPECT_NE(std::find(there.lanes.begin(), there.lanes.end(), lane), there.lanes.end()) << lane;
    }
    EXPECT_NE(std::find(there.kinds.begin(), there.kinds.end(), "reduce_scatter"), there.kinds.end());
}

}  // namespace
}  // namespace ziggurat::schedule
