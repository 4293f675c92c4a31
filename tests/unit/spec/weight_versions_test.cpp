#include "spec/weight_versions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace ziggurat::spec {
namespace {

RunSpec run_of(int stages, std::int64_t microbatches) {
    RunSpec run;
    run.parallel.stages = stages;
    run.parallel.pipeline_schedule = PipelineSchedule::pipedream;
    run.train.micro_batches = microbatches;
    return run;
}

/// Runs the order of a stage from an empty pipeline, and calls `visit` for each forward and backward.
template <class Visit>
void run_stage(const WeightVersions& rule, std::int64_t steps, Visit visit) {
    std::int64_t version = 0;
    for (std::int64_t j = 0; j < rule.ahead; ++j) {
        visit(true, j, version);
    }
    for (std::int64_t j = 0; j < steps * rule.microbatches; ++j) {
        visit(true, j + rule.ahead, version);
        visit(false, j, version);
        version += (j + 1) % rule.microbatches == 0 ? 1 : 0;
    }
}

// The closed forms are what the order of a stage needs, for any depth and number of micro-batches.
TEST(WeightVersions, AreThoseOfTheOrder) {
    constexpr std::int64_t steps = 12;
    for (int stages = 2; stages <= 7; ++stages) {
        for (std::int64_t microbatches = 1; microbatches <= 9; ++microbatches) {
            for (int stage = 0; stage < stages; ++stage) {
                const auto rule = weight_versions(run_of(stages, microbatches), stage);
                std::map<std::int64_t, std::int64_t> of_forward;  // micro-batches in flight
                std::size_t max_in_flight = 0;
                std::size_t max_stashes = 0;
                run_stage(rule, steps, [&](bool is_forward, std::int64_t j, std::int64_t current) {
                    if (is_forward) {
                        EXPECT_EQ(rule.version(j), current);
                        of_forward[j] = current;
                        max_in_flight = std::max(max_in_flight, of_forward.size());
                        return;
                    }
                    // At the start, the stages use the first version, which is not older.
                    const auto expected = std::max<std::int64_t>(current - rule.age(j % microbatches), 0);
                    EXPECT_EQ(of_forward.at(j), expected);
                    std::set<std::int64_t> older;
                    for (const auto& [number, version] : of_forward) {
                        older.insert(version);
                    }
                    older.erase(current);
                    max_stashes = std::max(max_stashes, older.size());
                    of_forward.erase(j);
                });
                EXPECT_EQ(static_cast<std::int64_t>(max_in_flight), rule.in_flight());
                EXPECT_EQ(static_cast<std::int64_t>(max_stashes), rule.stashes())
                    << stages << " stages, stage " << stage << ", " << microbatches << " micro-batches";
            }
        }
    }
}

TEST(WeightVersions, AreOneForEachStageAfterItOrTwo) {
    for (int stage = 0; stage < 4; ++stage) {
        EXPECT_EQ(weight_versions(run_of(4, 1), stage).stashes(), 3 - stage);
        EXPECT_EQ(weight_versions(run_of(4, 4), stage).stashes(), stage == 3 ? 0 : 1);
    }
}

TEST(WeightVersions, AreNoneWithAFlush) {
    auto run = run_of(4, 2);
    run.parallel.pipeline_schedule = PipelineSchedule::one_f_one_b;

    EXPECT_EQ(weight_versions(run, 0).stashes(), 0);
    EXPECT_EQ(expanded_microbatches(run), 2);
    EXPECT_EQ(steps_to_outcome(run), 0);
    EXPECT_EQ(steps_to_outcome(run_of(1, 2)), 0);
}

TEST(WeightVersions, BeginWithTheStepOfADrain) {
    const WeightVersions rule{.ahead = 3, .microbatches = 2};

    EXPECT_EQ(rule.version(20), 8);
    EXPECT_EQ(rule.version(20, 10), 10);
}

}  // namespace
}  // namespace ziggurat::spec
