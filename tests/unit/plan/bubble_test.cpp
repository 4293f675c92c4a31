/// Pipeline bubble of programs in which each decoder layer takes the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/time_to_train.hpp"
#include "schedule/build_program.hpp"
#include "schedule/layer_passes.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using schedule::OpKind;
using schedule::Program;

constexpr double forward_seconds = 0.02;

/// Simulated times of all ranks in a step, each lane in order; only layers take time.
class Timeline {
  public:
    explicit Timeline(const std::vector<Program>& programs) : programs_{programs} {
        for (const auto& program : programs) {
            auto& rank = ranks_.emplace_back();
            rank.ends.assign(program.ops.size(), -1);
            rank.seconds.assign(program.ops.size(), 0);
            rank.lanes.resize(program.lanes.size());
            for (std::size_t op = 0; op < program.ops.size(); ++op) {
                rank.lanes[static_cast<std::size_t>(program.ops[op].lane)].push_back(op);
            }
            for (const auto& pass : schedule::layer_passes(program)) {
                rank.seconds[static_cast<std::size_t>(pass.last)] = pass.forwards * forward_seconds;
            }
        }
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
                for (auto& lane : ranks_[rank].lanes) {
                    while (!lane.empty() && go(rank, lane.front())) {
                        lane.pop_front();
                        moved = true;
                    }
                }
            }
        }
    }

    bool is_done() const {
        return std::ranges::all_of(ranks_, [](const auto& rank) {
            return std::ranges::all_of(rank.lanes, [](const auto& lane) { return lane.empty(); });
        });
    }
    /// Returns the waiting time of a rank as a share of its compute time.
    double bubble() const {
        double end = 0;
        for (const auto& rank : ranks_) {
            end = std::max(end, *std::ranges::max_element(rank.ends));
        }
        double computed = 0;
        for (const double seconds : ranks_.front().seconds) {
            computed += seconds;
        }
        return (end - computed) / computed;
    }

  private:
    struct Rank {
        std::vector<double> ends, seconds;           ///< by op
        std::vector<std::deque<std::size_t>> lanes;  ///< remaining ops
        std::map<int, double> lane_ends;
    };

    bool go(std::size_t number, std::size_t index) {
        auto& rank = ranks_[number];
        const auto& program = programs_[number];
        const auto& op = program.ops[index];
        double begin = rank.lane_ends[op.lane];
        for (const int other : op.waits_for) {
            const double end = rank.ends[static_cast<std::size_t>(other)];
            if (end < 0) {
                return false;
            }
            begin = std::max(begin, end);
        }
        if (op.kind == OpKind::send || op.kind == OpKind::receive) {
            const auto peer =
                program.groups[static_cast<std::size_t>(op.group)].members[static_cast<std::size_t>(op.peer)];
            const auto me = static_cast<int>(number);
            auto& sent = op.kind == OpKind::send ? sent_[{me, peer, op.tag}] : sent_[{peer, me, op.tag}];
            if (op.kind == OpKind::send) {
                sent.push_back(begin);
            } else if (sent.empty()) {
                return false;
            } else {
                begin = std::max(begin, sent.front());
                sent.pop_front();
            }
        }
        rank.ends[index] = rank.lane_ends[op.lane] = begin + rank.seconds[index];
        return true;
    }

    const std::vector<Program>& programs_;
    std::vector<Rank> ranks_;
    std::map<std::tuple<int, int, int>, std::deque<double>> sent_;  ///< times, by sender, receiver and tag
};

spec::RunSpec staged(int stages, int chunks, std::int64_t microbatches, spec::PipelineSchedule schedule) {
    auto run = test::small_spec("llama", stages);
    run.model.layers = 2 * stages;
    run.parallel.data = 1;
    run.sharding.sum_group = 1;
    run.parallel.stages = stages;
    run.parallel.chunks_per_stage = chunks;
    run.parallel.stage_layers.assign(static_cast<std::size_t>(stages * chunks), 2 / chunks);
    run.parallel.pipeline_schedule = schedule;
    run.train.micro_batches = microbatches;
    run.train.global_batch = run.train.micro_batch * microbatches;
    return run;
}

/// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
/// Megatron-LM", 2021, section 2.2: (p - 1) / m, interleaved (p - 1) / (v m). Qi et al., "Zero Bubble
/// Pipeline Parallelism", 2023, table 2: (p - 1)(F + B - W), a third of F + B + W if all three are equal;
/// zero_bubble_v waits for the first forward of half the layers.
TEST(Bubble, IsThatOfTheory) {
    for (const auto& [schedule, parts, microbatches] : {std::tuple{spec::PipelineSchedule::gpipe, 1, 8},
                                                        {spec::PipelineSchedule::one_f_one_b, 1, 8},
                                                        {spec::PipelineSchedule::one_f_one_b, 1, 5},
                                                        {spec::PipelineSchedule::zero_bubble, 3, 4},
                                                        {spec::PipelineSchedule::zero_bubble, 3, 9},
                                                        {spec::PipelineSchedule::zero_bubble, 6, 8},
                                                        {spec::PipelineSchedule::interleaved, 2, 8}}) {
        const int chunks = schedule == spec::PipelineSchedule::interleaved ? parts : parts == 6 ? 2 : 1;
        const auto run = staged(4, chunks, microbatches, schedule);
        std::vector<Program> programs;
        for (int rank = 0; rank < run.parallel.ranks; ++rank) {
            programs.push_back(schedule::build_program(run, rank, schedule::Variant::train));
        }

        const Timeline timeline{programs};

        ASSERT_TRUE(timeline.is_done());
        EXPECT_NEAR(timeline.bubble(), 3.0 / (parts * microbatches), 1e-9) << parts << " " << microbatches;
    }
}

TEST(Bubble, IsInThePlannedStep) {
    spec::MachineSpec machine;
    machine.device_flops = 1e15;
    for (const auto& [schedule, parts] : {std::pair{spec::PipelineSchedule::one_f_one_b, 1},
                                          {spec::PipelineSchedule::zero_bubble, 3},
                                          {spec::PipelineSchedule::zero_bubble, 6},
                                          {spec::PipelineSchedule::interleaved, 2},
                                          {spec::PipelineSchedule::pipedream, 0}}) {
        auto run = staged(4, parts == 2 || parts == 6 ? 2 : 1, 8, schedule);
        run.debug.throttle.compute = forward_seconds;

        const auto planned = planned_step_seconds(run, machine);

        ASSERT_TRUE(planned);
        const double computed = 2 * 8 * 3 * forward_seconds;      // two layers, eight micro-batches
        const double bubble = parts > 0 ? 3.0 / (parts * 8) : 0;  // none without a flush
        EXPECT_NEAR(*planned, computed * (1 + bubble), 0.02 * computed) << parts;
    }
}

/// Returns the maximum number of micro-batches that have saved activations at the same time.
///
/// A received input counts when forward begins to read it.
int max_microbatches_kept(const Program& program) {
    std::map<int, std::pair<std::size_t, std::size_t>> lives;  // by buffer: first and last use
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        if (program.ops[i].kind != OpKind::compute) {
            continue;
        }
        for (const auto& operand : program.ops[i].writes) {
            lives.try_emplace(operand.buffer, i, i);
        }
        for (const auto& operand : program.ops[i].reads) {
            lives.try_emplace(operand.buffer, i, i).first->second.second = i;
        }
    }
    std::size_t max = 0;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        std::set<int> kept;
        for (const auto& [buffer, life] : lives) {
            const auto& described = program.buffer(buffer);
            if (described.consumer == schedule::MemoryCategory::activations && life.first <= i &&
                i < life.second) {
                kept.insert(described.microbatch);
            }
        }
        max = std::max(max, kept.size());
    }
    return static_cast<int>(max);
}

/// Source: Qi et al., 2023, section 3.1: ZB-H1 keeps at most the p micro-batches of 1F1B's first stage.
TEST(ZeroBubble, KeepsActivationsOfAsManyMicroBatchesAsThereAreStages) {
    for (const auto kind : {spec::RecomputeKind::none, spec::RecomputeKind::full}) {
        for (const int microbatches : {2, 3, 7}) {
            auto run = staged(3, 1, microbatches, spec::PipelineSchedule::zero_bubble);
            run.recompute.kind = kind;
            for (int rank = 0; rank < run.parallel.ranks; ++rank) {
                const auto program = schedule::build_program(run, rank, schedule::Variant::train);
                const auto kept = max_microbatches_kept(program);
                EXPECT_LE(kept, std::min(3, microbatches))
                    << "stage " << rank << ", " << microbatches << " micro-batches";
                if (kind == spec::RecomputeKind::none) {
                    EXPECT_EQ(kept, std::min(3, microbatches)) << "stage " << rank;
                }
            }
        }
    }
}

}  // namespace
}  // namespace ziggurat::plan
