#include "schedule/expand/pipeline_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "spec/virtual_stages.hpp"

namespace ziggurat::schedule {
namespace {

using Pass = Slot::Pass;
using Orders = std::vector<std::vector<Slot>>;

/// Returns the maximum number of forwards whose backward (of weights) is still pending.
int max_in_flight(const std::vector<Slot>& order) {
    int now = 0;
    int max = 0;
    for (const auto& slot : order) {
        now += slot.pass == Pass::forward ? 1 : 0;
        max = std::max(max, now);
        now -= slot.pass == Pass::backward || slot.pass == Pass::backward_weight ? 1 : 0;
    }
    return max;
}

Orders all_stages(const Pipeline& pipeline) {
    Orders orders;
    for (int stage = 0; stage < pipeline.stages; ++stage) {
        orders.push_back(pipeline_order(pipeline, stage));
    }
    return orders;
}

/// Simulates the stages together: a slot needs the messages of its neighbours in the model.
///
/// Returns the number of rounds if every slot takes one, or -1 on a deadlock.
int rounds_to_the_end(const Pipeline& pipeline, const Orders& orders) {
    const int virtual_stages = pipeline.stages * pipeline.chunks;
    std::set<std::tuple<bool, int, int>> done;  // (is backward, virtual stage, micro-batch)
    std::vector<std::size_t> next(orders.size());
    int rounds = 0;
    for (bool ended = false; !ended; ++rounds) {
        ended = true;
        std::set<std::tuple<bool, int, int>> now;
        bool moved = false;
        for (std::size_t stage = 0; stage < orders.size(); ++stage) {
            if (next[stage] == orders[stage].size()) {
                continue;
            }
            ended = false;
            const auto& slot = orders[stage][next[stage]];
            const int position = spec::virtual_stage(static_cast<int>(stage), slot.chunk, pipeline.stages,
                                                     spec::turns_back(pipeline.schedule, pipeline.chunks));
            bool ready = true;
            if (slot.pass == Pass::forward) {
                ready = position == 0 || done.count({false, position - 1, slot.microbatch}) == 1;
            } else if (slot.pass != Pass::backward_weight) {
                ready = done.count({false, position, slot.microbatch}) == 1 &&
                        (position == virtual_stages - 1 ||
                         done.count({true, position + 1, slot.microbatch}) == 1);
            } else {
                ready = done.count({true, position, slot.microbatch}) == 1;
            }
            if (ready) {
                moved = true;
                ++next[stage];
                if (slot.pass != Pass::backward_weight) {
                    now.insert({slot.pass != Pass::forward, position, slot.microbatch});
                }
            }
        }
        if (!moved && !ended) {
            return -1;
        }
        done.insert(now.begin(), now.end());
    }
    return rounds - 1;
}

void expect_each_slot_once_and_sums_in_order(const Pipeline& pipeline,
                                             int stage,
                                             const std::vector<Slot>& order) {
    std::map<std::tuple<int, int, int>, int> count;
    std::map<std::pair<int, int>, int> last;
    for (const auto& slot : order) {
        ++count[{static_cast<int>(slot.pass), slot.microbatch, slot.chunk}];
        if (slot.pass != Pass::forward) {
            auto& before = last.try_emplace({static_cast<int>(slot.pass), slot.chunk}, -1).first->second;
            EXPECT_EQ(slot.microbatch, before + 1);
            before = slot.microbatch;
        }
    }
    const bool split = spec::splits_backward(pipeline.schedule) && (stage > 0 || pipeline.chunks == 2);
    EXPECT_EQ(count.size(),
              static_cast<std::size_t>((split ? 3 : 2) * pipeline.microbatches * pipeline.chunks));
    EXPECT_TRUE(std::all_of(count.begin(), count.end(), [](const auto& c) { return c.second == 1; }));
}

TEST(PipelineOrder, NeverDeadlocksAndTakesEachSlotOnce) {
    for (const auto schedule : {spec::PipelineSchedule::gpipe, spec::PipelineSchedule::one_f_one_b,
                                spec::PipelineSchedule::interleaved, spec::PipelineSchedule::zero_bubble,
                                spec::PipelineSchedule::zero_bubble_half}) {
        const int max_chunks = schedule == spec::PipelineSchedule::interleaved ? 4
                               : spec::splits_backward(schedule)               ? 2
                                                                               : 1;
        const int min_chunks = schedule == spec::PipelineSchedule::zero_bubble_half ? 2 : 1;
        for (int stages = 1; stages <= 8; ++stages) {
            for (int chunks = min_chunks; chunks <= max_chunks; ++chunks) {
                for (int microbatches = 1; microbatches <= 12; ++microbatches) {
                    const Pipeline pipeline{schedule, stages, chunks, microbatches};
                    const auto orders = all_stages(pipeline);
                    for (int stage = 0; stage < stages; ++stage) {
                        expect_each_slot_once_and_sums_in_order(pipeline, stage,
                                                                orders[static_cast<std::size_t>(stage)]);
                    }
                    EXPECT_GT(rounds_to_the_end(pipeline, orders), 0)
                        << "schedule " << static_cast<int>(schedule) << ", " << stages << " stages, "
                        << chunks << " chunks, " << microbatches << " micro-batches";
                }
            }
        }
    }
}

TEST(PipelineOrder, HoldsNoMoreActivationsThanItsDepth) {
    for (int stages = 1; stages <= 8; ++stages) {
        for (int microbatches = 1; microbatches <= 12; ++microbatches) {
            for (int stage = 0; stage < stages; ++stage) {
                const auto in_flight = [&](spec::PipelineSchedule schedule, int chunks) {
                    return max_in_flight(pipeline_order({schedule, stages, chunks, microbatches}, stage));
                };
                EXPECT_EQ(in_flight(spec::PipelineSchedule::gpipe, 1), microbatches);
                EXPECT_EQ(in_flight(spec::PipelineSchedule::one_f_one_b, 1),
                          std::min(stages - stage, microbatches));
                EXPECT_LE(in_flight(spec::PipelineSchedule::zero_bubble, 1), std::min(stages, microbatches));
                EXPECT_LE(in_flight(spec::PipelineSchedule::zero_bubble, 2),
                          2 * std::min(stages, microbatches));
                EXPECT_LE(in_flight(spec::PipelineSchedule::zero_bubble_half, 2),
                          std::min(stages + 2, 2 * microbatches));
                for (int chunks = 2; chunks <= 4; ++chunks) {
                    EXPECT_LE(in_flight(spec::PipelineSchedule::interleaved, chunks),
                              2 * (stages - stage - 1) + (chunks - 1) * stages + 1);
                }
            }
        }
    }
}

// With slots of equal length, 1F1B leaves stages - 1 slots idle in each direction; chunks divide that.
TEST(PipelineOrder, HasTheBubbleOfItsSource) {
    for (int stages = 1; stages <= 8; ++stages) {
        for (int groups = 1; groups <= 3; ++groups) {
            const int microbatches = groups * stages;
            for (const auto schedule : {spec::PipelineSchedule::gpipe, spec::PipelineSchedule::one_f_one_b}) {
                const Pipeline pipeline{schedule, stages, 1, microbatches};
                EXPECT_EQ(rounds_to_the_end(pipeline, all_stages(pipeline)), 2 * (microbatches + stages - 1));
            }
            for (int chunks = 2; chunks <= 4; ++chunks) {
                const Pipeline pipeline{spec::PipelineSchedule::interleaved, stages, chunks, microbatches};
                EXPECT_EQ(rounds_to_the_end(pipeline, all_stages(pipeline)),
                          2 * (microbatches * chunks + stages - 1));
            }
        }
    }
}

// With three kinds of slots of equal length, idle stages wait a third of the time of 1F1B, whose backward
// takes two slots.
TEST(PipelineOrder, ZeroBubbleFillsTheDrainWithWeightGradients) {
    for (int stages = 2; stages <= 8; ++stages) {
        const int microbatches = 2 * stages;
        const Pipeline pipeline{spec::PipelineSchedule::zero_bubble, stages, 1, microbatches};

        const int rounds = rounds_to_the_end(pipeline, all_stages(pipeline));

        EXPECT_LE(rounds, 3 * microbatches + (stages - 1) + 1) << stages << " stages";
    }
}

// The last stage waits for the first micro-batch, and no stage waits longer.
TEST(PipelineOrder, StagesThatTurnBackWaitForTheFirstMicroBatchOnly) {
    for (int stages = 2; stages <= 8; ++stages) {
        for (const int microbatches : {stages, 2 * stages, 5 * stages}) {
            const Pipeline pipeline{spec::PipelineSchedule::zero_bubble, stages, 2, microbatches};

            const int rounds = rounds_to_the_end(pipeline, all_stages(pipeline));

            EXPECT_EQ(rounds, 6 * microbatches + stages - 1) << stages << " stages";
        }
    }
}

// 1F1B, whose backward takes two slots, waits for six slots of a chunk per further stage.
TEST(PipelineOrder, HalfOfTheMemoryCostsLessTimeThan1F1B) {
    for (int stages = 2; stages <= 24; ++stages) {
        for (const int microbatches : {1, stages - 1, stages, 2 * stages, 3 * stages + 1}) {
            const Pipeline pipeline{spec::PipelineSchedule::zero_bubble_half, stages, 2, microbatches};

            const int rounds = rounds_to_the_end(pipeline, all_stages(pipeline));

            const int waits = rounds - 6 * microbatches;
            EXPECT_LT(waits, 6 * (stages - 1)) << stages << " stages, " << microbatches << " micro-batches";
            if (stages <= 6) {
                EXPECT_LE(waits, 4 * (stages - 1)) << stages << " stages, " << microbatches;
            }
            if (stages <= 4 && microbatches % stages == 0) {
                EXPECT_LE(waits, 3 * (stages - 1)) << stages << " stages, " << microbatches;
            }
        }
    }
}

}  // namespace
}  // namespace ziggurat::schedule
