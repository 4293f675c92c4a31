#include "schedule/passes/control_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "layout/host_workspaces.hpp"
#include "schedule/build_program.hpp"
#include "schedule/verify/simulate.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/unit/schedule/program_text.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

using Texts = std::vector<std::string>;

Program training(const spec::RunSpec& spec, int rank = 0) {
    return build_program(spec, rank, Variant::train);
}

/// Returns the labels of the copies of control values over one link.
Texts control_copies(const Program& program, Engine engine) {
    Texts found;
    for (const auto& op : program.ops) {
        const auto& lane = program.lanes[static_cast<std::size_t>(op.lane)];
        if (op.kind == OpKind::copy && op.purpose == Purpose::control && lane.engine == engine) {
            EXPECT_TRUE(lane.serves_control);
            found.push_back(op.label);
        }
    }
    return found;
}

Texts buffers_of(const Program& program, const std::vector<Operand>& operands, Role role) {
    Texts found;
    for (const auto& operand : operands) {
        if (operand.role == role) {
            found.push_back(program.buffer(operand.buffer).name);
        }
    }
    return found;
}

/// Returns a run whose gradients are partly on the device and partly on the host, some units on each.
spec::RunSpec with_norms_on_both() {
    auto spec = test::small_spec("gpt2");
    spec.model.layers = 4;
    spec.tiers.chunk_elements = 4096;
    spec.tiers.gradients = {0.5, 0.5, 0};
    return spec;
}

const Op& step_end_of(const Program& program) {
    return test::op_of(program, "norm and clip factor");
}

TEST(ControlPass, BringsToTheDeviceWhatItReads) {
    const auto program = training(test::small_spec("llama"));

    EXPECT_EQ(control_copies(program, Engine::host_to_device),
              (Texts{"batch to device 0", "step_inputs to device", "batch to device 1",
                     "update_inputs to device"}));
    const auto& batch = test::op_of(program, "batch to device 1");
    EXPECT_EQ(test::operands(program, batch.reads),
              "tokens=tokens targets=targets positions=positions document_starts=document_starts mask=mask")
        << "no samples: nothing is dropped";
    const BatchTensor brought[] = {BatchTensor::tokens, BatchTensor::targets, BatchTensor::positions,
                                   BatchTensor::document_starts, BatchTensor::mask};
    ASSERT_EQ(batch.reads.size(), std::size(brought));
    for (std::size_t i = 0; i < batch.reads.size(); ++i) {
        EXPECT_EQ(batch.reads[i].buffer, program.trainer_buffers.of(brought[i], 1));
        EXPECT_EQ(program.buffer(batch.reads[i].buffer).tier, spec::Tier::host);
        EXPECT_EQ(program.buffer(batch.writes[i].buffer).tier, spec::Tier::device);
        EXPECT_EQ(program.buffer(batch.writes[i].buffer).lifetime, Lifetime::transient);
    }
}

TEST(ControlPass, BringsTheStartsThatLayersRead) {
    const auto starts_of = [](std::int64_t window, std::int64_t interval) {
        auto spec = test::small_spec("mistral");
        spec.model.layers = 2;
        spec.model.window = window;
        spec.model.full_attention_interval = interval;
        const auto program = training(spec);
        EXPECT_EQ(program.trainer_buffers.of(BatchTensor::window_starts, 0) >= 0,
                  window > 0 && window < spec.data.seq);
        const auto& reads = test::op_of(program, "batch to device 1").reads;
        std::set<std::string> found;
        for (const auto role : {Role::document_starts, Role::window_starts}) {
            for (const auto& name : buffers_of(program, reads, role)) {
                found.insert(name);
            }
        }
        return found;
    };

    EXPECT_EQ(starts_of(0, 0), std::set<std::string>{"document_starts"});
    EXPECT_EQ(starts_of(16, 0), std::set<std::string>{"document_starts"}) << "all queries reach all keys";
    EXPECT_EQ(starts_of(15, 0), std::set<std::string>{"window_starts"});
    EXPECT_EQ(starts_of(15, 2), (std::set<std::string>{"document_starts", "window_starts"}));
}

TEST(ControlPass, BringsABatchInFrontOfItsFirstReader) {
    const auto program = training(test::small_spec("llama"));

    EXPECT_EQ(test::index_of(program, "batch to device 0") + 1,
              test::index_of(program, "embedding.embedding forward 0"));
    EXPECT_EQ(test::index_of(program, "batch to device 1") + 1,
              test::index_of(program, "embedding.embedding forward 1"));
}

TEST(ControlPass, HasNoCopyThatNobodyReads) {
    auto spec = test::small_spec("gpt2");
    spec.tiers.gradients = spec.tiers.optimizer = {0, 1, 0};
    const auto program = training(spec);

    EXPECT_EQ(test::index_of(program, "update_inputs to device"), -1) << "updates are the host's";
    EXPECT_EQ(test::index_of(program, "exact_sums to host"), -1) << "so are norms";
    const auto evaluating = build_program(spec, 0, Variant::evaluate);
    EXPECT_EQ(control_copies(evaluating, Engine::host_to_device), Texts{"batch to device 0"});
}

TEST(ControlPass, SumsSquaresWhereNormsAreFormed) {
    const auto sums = [](const spec::Home& gradients) {
        auto spec = with_norms_on_both();
        spec.tiers.gradients = gradients;
        const auto program = training(spec);
        for (const auto& op : program.ops) {
            if (op.kind == OpKind::norm) {
                const bool is_on_host =
                    program.lanes[static_cast<std::size_t>(op.lane)].engine == Engine::host_optimizer;
                EXPECT_EQ(buffers_of(program, op.writes, Role::exact_sums),
                          Texts{is_on_host ? "exact_sums" : "exact_sums on device"});
            }
        }
        return buffers_of(program, step_end_of(program).reads, Role::exact_sums);
    };

    EXPECT_EQ(sums({1, 0, 0}), Texts{"exact_sums of device"});
    EXPECT_EQ(sums({0, 1, 0}), Texts{"exact_sums"});
    EXPECT_EQ(std::ranges::count(sums({0.5, 0.5, 0}), "exact_sums"), 1);
    EXPECT_EQ(std::ranges::count(sums({0.5, 0.5, 0}), "exact_sums of device"), 1);
}

TEST(ControlPass, EmptiesEachSumInFrontOfItsFirstNorm) {
    const auto program = training(with_norms_on_both());
    std::set<int> emptied;

    for (const auto& op : program.ops) {
        if (op.kind == OpKind::fill && op.label.starts_with("zeros for exact_sums")) {
            EXPECT_TRUE(emptied.insert(op.writes.front().buffer).second);
        }
        if (op.kind == OpKind::norm) {
            EXPECT_TRUE(emptied.contains(program.find_write(op, Role::exact_sums)->buffer)) << op.label;
        }
    }
    EXPECT_EQ(emptied.size(), 2U);
}

/// A sum that starts late, or is copied early, lacks updates.
TEST(ControlPass, SumsTheUpdatesOfEachTier) {
    for (const double device : {1.0, 0.5, 0.0}) {
        for (const bool in_backward : {false, true}) {
            auto spec = with_norms_on_both();
            spec.logging.norms = 10;
            spec.tiers.gradients = spec.tiers.optimizer = {device, 1 - device, 0};
            spec.optimizer.clip = spec::ClipPolicy::previous_norm;
            spec.overlap.optimizer_with_backward = in_backward;
            const auto program = training(spec);
            std::set<std::string> begun, copied;
            for (const auto& op : program.ops) {
                for (const auto& name : buffers_of(program, op.writes, Role::update_sums)) {
                    if (op.kind == OpKind::fill) {
                        EXPECT_TRUE(begun.insert(name).second);
                    } else if (op.kind == OpKind::update) {
                        const bool is_on_host = program.lanes[op.lane].engine == Engine::host_optimizer;
                        EXPECT_EQ(name, is_on_host ? "update_sums" : "update_sums on device");
                        EXPECT_TRUE(begun.contains(name)) << op.label;
                        EXPECT_TRUE(is_on_host || copied.empty()) << op.label;
                    } else {
                        EXPECT_EQ(op.kind, OpKind::copy);
                        EXPECT_EQ(name, "update_sums of device");
                        EXPECT_TRUE(copied.insert(name).second);
                    }
                }
                if (op.kind == OpKind::update) {
                    EXPECT_EQ(buffers_of(program, op.writes, Role::update_sums).size(),
                              buffers_of(program, op.writes, Role::master).size());
                }
            }
            const auto simulated = simulate(std::vector{program}, nullptr);
            EXPECT_TRUE(simulated.ok()) << simulated.report();
            EXPECT_EQ(begun.size(), device == 0.5 ? 2U : 1U);
            EXPECT_EQ(copied.size(), device > 0 ? 1U : 0U);
        }
    }
}

/// Sums of units that share a range would be those of no unit.
TEST(ControlPass, HasARangeForTheSumsOfEachUnit) {
    auto spec = with_norms_on_both();
    spec.logging.norms = 10;
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, Variant::train);
    std::map<std::int64_t, int> unit_at;  // by offset, of gradients
    std::map<std::int64_t, int> updated_at;
    for (const auto& op : program.ops) {
        if (const auto* sum = program.find_write(op, Role::exact_sums);
            sum != nullptr && op.kind == OpKind::norm) {
            EXPECT_EQ(sum->runs.front().bytes, exact_sum_slot_bytes);
            EXPECT_EQ(unit_at.try_emplace(sum->runs.front().offset, op.unit).first->second, int{op.unit});
        }
        std::size_t i = 0;
        for (const auto& written : op.writes) {
            if (written.role == Role::update_sums && op.kind == OpKind::update) {
                std::vector<int> units;
                for (const auto& master : op.writes) {
                    if (master.role == Role::master) {
                        units.push_back(program.buffers[master.buffer].unit);
                    }
                }
                EXPECT_EQ(updated_at.try_emplace(written.runs.front().offset, units.at(i)).first->second,
                          units[i]);
                ++i;
            }
        }
    }
    EXPECT_EQ(unit_at.size(), model.units.size());
    EXPECT_EQ(updated_at.size(), model.units.size());
}

/// A run without norms by unit has the program that it always had.
TEST(ControlPass, HasNoSumsOfUpdatesUnlessAskedFor) {
    const auto program = training(with_norms_on_both());
    EXPECT_EQ(program.trainer_buffers.update_sums, BufferId{-1});
    for (const auto& op : program.ops) {
        EXPECT_EQ(program.find_write(op, Role::update_sums), nullptr) << op.label;
    }
}

TEST(ControlPass, TakesLossesHomeBehindTheLastOfThem) {
    auto spec = test::small_spec("llama");
    spec.data.seq = 2048;  // two blocks of logits for each sequence
    spec.model.max_seq = 2048;
    const auto program = training(spec);
    const auto& taken = test::op_of(program, "losses to host 1");

    int last = -1;
    int blocks = 0;
    for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
        const auto& op = program.ops[static_cast<std::size_t>(i)];
        const bool makes_losses = op.kind == OpKind::loss && op.microbatch == 1;
        last = makes_losses ? i : last;
        blocks += makes_losses ? 1 : 0;
    }
    EXPECT_GT(blocks, 1);
    EXPECT_EQ(last + 1, test::index_of(program, "losses to host 1"));
    EXPECT_EQ(taken.writes.front().buffer, program.trainer_buffers.of(BatchTensor::losses, 1));
}

TEST(ControlPass, EndsAStepWithTheLossesThatTheRankMakes) {
    auto spec = test::small_spec("llama", 1);
    spec.model.layers = 2;
    spec.parallel.stages = spec.parallel.ranks = spec.parallel.ranks_per_node = 2;
    const auto first = training(spec, 0);
    const auto last = training(spec, 1);

    EXPECT_EQ(buffers_of(first, step_end_of(first).reads, Role::losses), Texts{});
    EXPECT_EQ(buffers_of(last, step_end_of(last).reads, Role::losses), (Texts{"losses", "losses"}));
}

TEST(ControlPass, WatchesARowOfEachBlockOfLogitsThatAreEvaluated) {
    auto spec = test::small_spec("llama");
    spec.data.seq = 2048;
    spec.model.max_seq = 2048;
    const auto program = build_program(spec, 0, Variant::evaluate);
    const int watched = program.trainer_buffers.watched_logits;
    ASSERT_GE(watched, 0);
    EXPECT_EQ(program.buffer(watched).tier, spec::Tier::host);
    EXPECT_EQ(program.buffer(watched).bytes, spec.model.vocab_padded * 4);

    std::int64_t rows = 0;
    std::int64_t bytes = 0;
    for (const auto& op : program.ops) {
        if (const auto* row = program.find_write(op, Role::watched)) {
            EXPECT_EQ(row->buffer, watched);
            EXPECT_EQ(op.row_begin, rows) << "every row of the micro-batch, in order";
            rows = op.row_end;
            bytes += bytes_moved(op, program);
        }
    }
    EXPECT_EQ(rows, spec.train.micro_batch * spec.data.seq);
    EXPECT_EQ(bytes, rows / layout::HostWorkspaces::rows_packed_at_once * spec.model.vocab_padded * 4)
        << "one row of a block";
    EXPECT_EQ(training(spec).trainer_buffers.watched_logits, -1);
}

TEST(ControlPass, WatchesAllColumnsWhereTheHeadIsCut) {
    auto spec = test::small_spec("gpt2");
    spec.tiers.tiles = {{"head.*", 1, 2}};
    const auto program = build_program(spec, 0, Variant::evaluate);

    std::int64_t columns = 0;
    for (const auto& op : program.ops) {
        if (const auto* row = program.find_write(op, Role::watched)) {
            EXPECT_EQ(row->runs.front().offset, columns * 4);
            columns += row->runs.front().bytes / 4;
        }
    }
    EXPECT_EQ(columns, spec.model.vocab_padded);
}

TEST(ControlPass, SharesTheMemoryOfBatchesOnTheDevice) {
    auto spec = test::small_spec("llama");
    const auto few = training(spec).tier_bytes(spec::Tier::device);
    spec.train.micro_batches = 64;
    const auto many = training(spec).tier_bytes(spec::Tier::device);

    EXPECT_EQ(many, few);
}

// A value is missing in a tier if no copy brought it there.
TEST(ControlPass, NoCopyCanBeLeftOut) {
    const auto whole = training(with_norms_on_both());
    const std::vector alone{whole};
    ASSERT_TRUE(simulate(alone, nullptr).ok()) << simulate(alone, nullptr).report();
    int tried = 0;
    for (std::size_t i = 0; i < whole.ops.size(); ++i) {
        if (whole.ops[i].kind != OpKind::copy || whole.ops[i].purpose != Purpose::control) {
            continue;
        }
        ++tried;
        auto program = whole;
        auto& op = program.ops[i];
        op.kind = OpKind::fill;
        op.reads.clear();
        op.writes.clear();
        EXPECT_FALSE(simulate({program}, nullptr).ok()) << op.label;
    }
    EXPECT_EQ(tried, 7) << "two batches and their losses, inputs of step and updates, a sum";
}

TEST(ControlVolumes, AreCountedApartFromState) {
    const auto spec = test::small_spec("llama");
    const auto program = training(spec);
    const auto control = control_bytes_by_link(program);
    const std::int64_t tokens = spec.train.micro_batch * spec.data.seq;

    EXPECT_EQ(bytes_by_link(program), BytesByLink{}) << "everything is at home on the device";
    // Tokens, targets, positions and document starts, and a mask of bytes; the inputs of step and updates.
    EXPECT_EQ(control[static_cast<std::size_t>(Link::host_to_device)],
              spec.train.micro_batches * tokens * (4 * 4 + 1) + 2 * step_inputs_bytes);
    EXPECT_EQ(control[static_cast<std::size_t>(Link::device_to_host)],
              spec.train.micro_batches * tokens * 4 + exact_sums_bytes);
}

}  // namespace
}  // namespace ziggurat::schedule
