#include "schedule/passes/optimizer_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "schedule/build_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/unit/schedule/program_text.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec sharded(int data, int p, int o) {
    auto spec = test::small_spec("gpt2", data);
    spec.sharding.parameters = spec.sharding.gradients = p;
    spec.sharding.optimizer = o;
    spec.tiers.chunk_elements = 1024;
    return spec;
}

/// Returns the elements of a unit's flat range that an operand covers.
layout::ElementRange elements_of(const Program& program, const Operand& operand) {
    const auto& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
    const std::int64_t width = element_bytes(buffer);
    const auto run = operand.runs.at(0);
    return {buffer.first_element + run.offset / width,
            buffer.first_element + (run.offset + run.bytes) / width};
}

std::vector<Operand> of_role(const std::vector<Operand>& operands, Role role) {
    std::vector<Operand> found;
    std::copy_if(operands.begin(), operands.end(), std::back_inserter(found),
                 [&](const Operand& operand) { return operand.role == role; });
    return found;
}

TEST(OptimizerPass, UpdatesEachElementOfTheShardsOnceWithAllItsState) {
    for (const auto type : {spec::DType::f32, spec::DType::bf16}) {
        for (int rank = 0; rank < 4; ++rank) {
            auto spec = sharded(4, 1, 2);
            spec.precision.compute = type;
            const ModelLayout model{spec, rank};
            const auto program = build_program(spec, model, Variant::train);
            std::map<int, std::int64_t> updated;  // unit -> end of its updates so far
            for (const auto& op : program.ops) {
                if (op.kind != OpKind::update) {
                    continue;
                }
                const auto gradients = of_role(op.reads, Role::gradient);
                for (std::size_t i = 0; i < gradients.size(); ++i) {
                    const auto range = elements_of(program, gradients[i]);
                    const int u = program.buffers[static_cast<std::size_t>(gradients[i].buffer)].unit;
                    auto roles = std::vector{Role::master, Role::first_moment, Role::second_moment};
                    if (type == spec::DType::bf16) {
                        roles.push_back(Role::parameters);
                    }
                    for (const auto role : roles) {
                        EXPECT_EQ(elements_of(program, of_role(op.writes, role).at(i)), range);
                    }
                    const auto shard = model.shards[static_cast<std::size_t>(u)].shard(2, rank);
                    const auto expected = updated.contains(u) ? updated[u] : shard.begin;
                    EXPECT_EQ(range.begin, expected);
                    updated[u] = range.end;
                }
            }
            for (const int u : model.units) {
                EXPECT_EQ(updated[u], model.shards[static_cast<std::size_t>(u)].shard(2, rank).end);
            }
        }
    }
}

TEST(OptimizerPass, TakesTheParametersAsMasterInF32) {
    const auto program = build_program(sharded(1, 1, 1), 0, Variant::train);
    const auto& update = test::op_of(program, "update of chunk 0");

    EXPECT_EQ(test::operands(program, update.writes),
              "master=embedding.parameters first_moment=embedding.first_moment "
              "second_moment=embedding.second_moment");
    EXPECT_EQ(program.find_write(update, Role::parameters), nullptr);
    EXPECT_NE(program.find_read(update, Role::update_inputs), nullptr);
}

TEST(OptimizerPass, CutsUpdatesToTheChunkSize) {
    const auto spec = sharded(1, 1, 1);
    const ModelLayout model{spec, 0};
    const auto chunks = optimizer_chunks(spec, model);
    const auto program = build_program(spec, model, Variant::train);

    EXPECT_EQ(test::count(program, OpKind::update), chunks.num_chunks());
    EXPECT_EQ(chunks.num_chunks(), (chunks.elements() + 1023) / 1024);
}

TEST(OptimizerPass, PublishesWithinTheHoldersOfOneShard) {
    const auto publications = [](const Program& program) {
        std::vector<std::vector<int>> groups;
        for (const auto& op : program.ops) {
            if (op.purpose == Purpose::publication) {
                groups.push_back(program.groups[static_cast<std::size_t>(op.group)].members);
            }
        }
        return groups;
    };
    using Groups = std::vector<std::vector<int>>;

    EXPECT_EQ(publications(build_program(sharded(4, 1, 1), 0, Variant::train)), Groups{});
    EXPECT_EQ(publications(build_program(sharded(4, 1, 2), 3, Variant::train)),
              (Groups{3, std::vector<int>{2, 3}}));
    EXPECT_EQ(publications(build_program(sharded(4, 2, 4), 1, Variant::train)),
              (Groups{3, std::vector<int>{1, 3}}));
    EXPECT_EQ(publications(build_program(sharded(4, 4, 4), 1, Variant::train)), Groups{});
}

TEST(OptimizerPass, PublishesAUnitBehindItsLastChunk) {
    const auto spec = sharded(2, 1, 2);
    const ModelLayout model{spec, 0};
    const auto chunks = optimizer_chunks(spec, model);
    const auto program = build_program(spec, model, Variant::train);

    int last_update = -1;
    for (const auto& op : program.ops) {
        last_update = op.kind == OpKind::update ? op.chunk : last_update;
        if (op.purpose == Purpose::publication) {
            int last_chunk = -1;
            for (int k = 0; k < chunks.num_chunks(); ++k) {
                const bool has_unit =
                    std::ranges::count(chunks.chunk(k), op.unit, &layout::UnitRange::unit) > 0;
                last_chunk = has_unit ? k : last_chunk;
            }
            EXPECT_EQ(last_update, last_chunk);
        }
    }
}

TEST(OptimizerPass, EndsTheStepOnALaneOfItsOwn) {
    for (const int ranks : {1, 2}) {
        const auto program = build_program(sharded(ranks, 1, 1), 0, Variant::train);
        const auto& end = test::op_of(program, "norm and clip factor");

        EXPECT_EQ(program.lanes[static_cast<std::size_t>(end.lane)].name, "step_end");
        EXPECT_EQ(end.group >= 0, ranks > 1);
    }
}

spec::RunSpec in_backward(spec::RunSpec spec) {
    spec.overlap.optimizer_with_backward = true;
    spec.optimizer.clip = spec::ClipPolicy::off;
    return spec;
}

TEST(OptimizerPass, UpdatesAChunkInBackwardAfterTheLastUseOfItsUnits) {
    for (const int span : {1, 2}) {
        auto spec = in_backward(sharded(2, span, 2));
        spec.train.micro_batches = 2;
        const auto program = build_program(spec, 1, Variant::train);
        std::map<int, OpId> first_update;  // by unit
        OpId last_backward = -1;
        for (OpId i = 0; i < program.ops.end_id(); ++i) {
            const auto& op = program.ops[i];
            last_backward = op.kind == OpKind::compute ? i : last_backward;
            for (const auto& gradient : of_role(op.reads, Role::gradient)) {
                if (op.kind == OpKind::update) {
                    first_update.try_emplace(program.buffers[gradient.buffer].unit, i);
                }
            }
        }
        ASSERT_EQ(first_update.size(), 3U);
        for (OpId i = 0; i < program.ops.end_id(); ++i) {
            const auto& op = program.ops[i];
            if (op.kind != OpKind::compute && op.kind != OpKind::add && op.purpose != Purpose::gradients) {
                continue;
            }
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    const auto& used = program.buffers[operand.buffer];
                    const bool changes =
                        used.state == StateKind::gradients || used.state == StateKind::parameters;
                    if (changes && first_update.contains(used.unit)) {
                        EXPECT_LT(i, first_update[used.unit]) << op.label;
                    }
                }
            }
        }
        EXPECT_LT(first_update[2], last_backward) << "the head is updated during backward";
        EXPECT_LT(first_update[2], first_update[1]);
        EXPECT_LT(first_update[1], first_update[0]);
    }
}

TEST(OptimizerPass, GivesTheInputsToUpdatesInBackwardBeforeTheStep) {
    auto spec = in_backward(sharded(1, 1, 1));
    spec.tiers.optimizer = {0, 1, 0};
    const auto program = build_program(spec, 0, Variant::train);
    const auto& first = program.ops[OpId{0}];
    const auto& update = test::op_of(program, "update of chunk 0, embedding");
    const auto& end = test::op_of(program, "norm and clip factor");

    EXPECT_EQ(first.label, "inputs of updates");
    EXPECT_NE(program.find_read(first, Role::step_inputs), nullptr);
    EXPECT_NE(program.find_write(first, Role::update_inputs), nullptr);
    EXPECT_NE(program.find_read(update, Role::update_inputs), nullptr);
    EXPECT_EQ(program.find_write(end, Role::update_inputs), nullptr);
    EXPECT_FALSE(first.waits_for_previous_step.empty()) << "the updates of the previous step read them";
}

/// Counts of ops that a unit's update needs, if units are clipped by their own norms.
TEST(OptimizerPass, ClipsEachUnitByItsOwnNormBeforeItsUpdates) {
    for (const bool beside : {false, true}) {
        for (const double device : {1.0, 0.7, 0.0}) {
            auto spec = sharded(2, 1, 2);
            spec.overlap.optimizer_with_backward = beside;
            spec.optimizer.clip = spec::ClipPolicy::per_unit;
            spec.tiers.gradients = spec.tiers.optimizer = {device, 1 - device, 0};
            const ModelLayout model{spec, 1};
            const auto program = build_program(spec, model, Variant::train);
            const auto end = test::index_of(program, "norm and clip factor");
            std::size_t num_sums = 0;
            for (const auto unit : model.units) {
                const auto& name = model.table.units[unit].name;
                const auto index = test::index_of(program, "norm and clip factor of " + name);
                const auto& clip = program.ops[index];
                const auto sums = of_role(clip.reads, Role::exact_sums);
                EXPECT_EQ(program.groups.at(clip.group).members, (std::vector{0, 1}));
                EXPECT_EQ(index < end, beside);
                const auto made = program.find_write(clip, Role::update_inputs)->buffer;
                EXPECT_EQ(made, program.trainer_buffers.unit_clips[unit].update_inputs);
                std::set<Engine> tiers;
                int updates = 0;
                for (OpId i = 0; i < program.ops.end_id(); ++i) {
                    const auto& op = program.ops[i];
                    if (op.kind == OpKind::norm && op.unit == unit) {
                        tiers.insert(program.lanes[op.lane].engine);
                        EXPECT_LT(i, index);
                    }
                    const auto gradients = of_role(op.reads, Role::gradient);
                    if (op.kind == OpKind::update && program.buffers[gradients.at(0).buffer].unit == unit) {
                        ++updates;
                        EXPECT_GT(i, index);
                        EXPECT_EQ(gradients.size(), 1U) << "no other unit";
                    }
                }
                EXPECT_EQ(sums.size(), tiers.size()) << "one sum of each tier that has gradients";
                EXPECT_GT(tiers.size(), 0U);
                num_sums += sums.size();
                EXPECT_GT(updates, 0);
            }
            const auto& step_end = program.ops[end];
            EXPECT_EQ(of_role(step_end.reads, Role::exact_sums).size(), num_sums);
            EXPECT_EQ(num_sums > model.units.size(), device == 0.7) << "a unit has gradients in both tiers";
            if (beside && device == 1) {
                const auto head = test::index_of(program, "norm and clip factor of head");
                const auto first = test::index_of(program, "norm and clip factor of embedding");
                EXPECT_LT(head, first) << "the head's norm does not wait for the end of backward";
            }
        }
    }
}

TEST(OptimizerPass, ClipsATiedTableByTheNormOfBothStages) {
    auto spec = test::small_spec("gpt2", 1);
    spec.model.layers = 2;
    spec.parallel.stages = spec.parallel.ranks = 2;
    spec.train.micro_batches = spec.train.global_batch / spec.train.micro_batch;
    spec.overlap.optimizer_with_backward = true;
    spec.optimizer.clip = spec::ClipPolicy::per_unit;
    for (const int rank : {0, 1}) {
        const auto program = build_program(spec, rank, Variant::train);
        const auto& table = test::op_of(program, "norm and clip factor of embedding");
        ASSERT_GE(table.group, 0);
        EXPECT_EQ(program.groups[table.group].members, (std::vector{0, 1}));
        for (const auto& op : program.ops) {
            if (op.kind == OpKind::unit_clip && op.unit != table.unit) {
                EXPECT_EQ(op.group, -1) << "one rank has the unit";
            }
        }
    }
}

TEST(OptimizerPass, SpeculatesInBackwardAndRepeatsUpdatesAfterTheNormIsKnown) {
    auto spec = sharded(1, 1, 1);
    spec.precision.compute = spec::DType::bf16;
    spec.overlap.optimizer_with_backward = true;
    spec.tiers.optimizer = {0.5, 0.5, 0};
    const auto program = build_program(spec, 0, Variant::train);
    const auto end = test::index_of(program, "norm and clip factor");
    std::map<std::pair<int, int>, int> speculative, repeated, wholes;  // by chunk and unit: index
    for (OpId i = 0; i < program.ops.end_id(); ++i) {
        const auto& op = program.ops[i];
        if (op.kind == OpKind::update) {
            (program.find_write(op, Role::undo) != nullptr ? speculative
             : op.predicate                                ? repeated
                                                           : wholes)[{
                op.chunk, program.buffers[of_role(op.writes, Role::first_moment).at(0).buffer].unit}] = i;
        }
    }
    ASSERT_FALSE(speculative.empty());
    ASSERT_FALSE(wholes.empty());
    for (const auto& [chunk, index] : speculative) {
        const auto& op = program.ops[OpId{index}];
        EXPECT_LT(index, end);
        EXPECT_GT(repeated.at(chunk), end);
        EXPECT_EQ(program.lanes[op.lane].engine, Engine::host_optimizer);
        const auto& redo = program.ops[OpId{repeated.at(chunk)}];
        EXPECT_NE(program.find_write(op, Role::parameters), nullptr);
        EXPECT_NE(program.find_write(redo, Role::parameters), nullptr);
        EXPECT_NE(program.find_read(redo, Role::undo), nullptr);
        EXPECT_EQ(program.find_read(redo, Role::first_moment), nullptr) << "the kept state replaces it";
        EXPECT_EQ(redo.predicate->buffer, program.trainer_buffers.update_inputs);
        const auto masters = of_role(op.writes, Role::master);
        std::int64_t bytes = 0;
        for (const auto& master : masters) {
            bytes += 3 * master.bytes();
        }
        EXPECT_EQ(program.buffers[program.find_write(op, Role::undo)->buffer].bytes, bytes);
    }
    for (const auto& [chunk, whole] : wholes) {
        EXPECT_GT(whole, end) << "state on the device is updated when the norm is known";
        EXPECT_FALSE(speculative.contains(chunk));
    }
}

TEST(OptimizerPass, SpeculatesOnNvmeIntoTheSecondSlot) {
    for (const auto compute : {spec::DType::bf16, spec::DType::f32}) {
        auto spec = sharded(1, 1, 1);
        spec.precision.compute = compute;
        spec.overlap.optimizer_with_backward = true;
        spec.train.micro_batches = 1;
        spec.train.global_batch = 2;
        spec.tiers.nvme_paths = {"/nvme"};
        spec.tiers.optimizer = spec.tiers.gradients = {0, 0, 1};
        const auto program = build_program(spec, 0, Variant::train);
        const auto end = test::index_of(program, "norm and clip factor");
        int reads = 0, repeated_reads = 0, repeated_gradients = 0;
        for (OpId i = 0; i < program.ops.end_id(); ++i) {
            const auto& op = program.ops[i];
            EXPECT_TRUE(!op.predicate || i > end) << op.label;
            // Parameters that are the master weights have one slot, so they are kept in memory.
            EXPECT_EQ(op.kind == OpKind::update && compute == spec::DType::f32,
                      program.find_read(op, Role::undo) != nullptr ||
                          program.find_write(op, Role::undo) != nullptr);
            for (const auto& read : op.reads) {
                const auto& from = program.buffers[read.buffer];
                if (op.kind == OpKind::read && from.state == StateKind::first_moment) {
                    ++(op.predicate ? repeated_reads : reads);
                    ASSERT_GE(from.second_slot, 0);
                    EXPECT_EQ(program.buffers[from.second_slot].bytes, from.bytes);
                    EXPECT_EQ(program.buffers[from.second_slot].offset, from.second_offset);
                    EXPECT_EQ(program.buffers[from.second_slot].consumer, MemoryCategory::undo);
                }
                repeated_gradients +=
                    op.kind == OpKind::read && op.predicate && from.state == StateKind::gradients ? 1 : 0;
            }
        }
        EXPECT_GT(reads, 0);
        EXPECT_EQ(reads, repeated_reads);
        EXPECT_GT(repeated_gradients, 0) << "a repeated update fetches its gradient";
        auto unclipped = spec;
        unclipped.optimizer.clip = spec::ClipPolicy::off;
        const auto normal = bytes_by_link(program);
        const auto redone = bytes_of_redone_updates(program);
        EXPECT_EQ(normal, bytes_by_link(build_program(unclipped, 0, Variant::train)));
        const auto read = static_cast<std::size_t>(Link::nvme_read);
        const auto write = static_cast<std::size_t>(Link::nvme_write);
        EXPECT_GT(redone[read], redone[write]) << "state, and gradients, which are only read";
        EXPECT_LT(redone[write], normal[write]);
    }
}

TEST(OptimizerPass, DelaysUpdatesToTheNextStepWhoseParametersLackThem) {
    for (const int span : {1, 2}) {
        auto spec = sharded(2, span, 2);
        spec.overlap.delayed_update = true;
        const auto program = build_program(spec, 1, Variant::train);
        const auto end = test::index_of(program, "norm and clip factor");
        OpId last_backward = -1, last_publication = -1, first_update = program.ops.end_id();
        std::vector<int> updated;
        for (OpId i = 0; i < program.ops.end_id(); ++i) {
            const auto& op = program.ops[i];
            last_backward = op.kind == OpKind::compute ? i : last_backward;
            if (op.purpose == Purpose::publication) {
                EXPECT_GT(i, last_backward);
                last_publication = i;
                EXPECT_EQ(program.find_read(op, Role::gradient), nullptr);
            } else if (op.kind == OpKind::update) {
                first_update = std::min(first_update, i);
                EXPECT_EQ(program.find_write(op, Role::parameters), nullptr);
                EXPECT_NE(program.find_read(op, Role::update_inputs), nullptr);
                const auto unit = program.buffers[program.find_read(op, Role::gradient)->buffer].unit;
                if (updated.empty() || updated.back() != unit) {
                    updated.push_back(unit);
                }
            }
        }
        EXPECT_EQ(updated, (std::vector{2, 1, 0}))
            << "backward overwrites the gradients of the last unit first";
        EXPECT_GT(last_publication, last_backward);
        EXPECT_LT(last_publication, first_update);
        EXPECT_LT(end, first_update);
        for (OpId i = 0; i < program.ops.end_id(); ++i) {
            const auto& op = program.ops[i];
            const bool reads_parameters = op.kind == OpKind::compute && op.direction == Direction::forward;
            for (const auto before : op.waits_for_previous_step) {
                EXPECT_TRUE(!reads_parameters || before < first_update) << op.label << " waits for an update";
            }
        }
    }
}

TEST(OptimizerPass, PublishesAllMasterWeightsBetweenSteps) {
    for (const auto type : {spec::DType::f32, spec::DType::bf16}) {
        auto spec = sharded(2, 1, 2);
        spec.precision.compute = type;
        spec.overlap.delayed_update = true;
        const auto program = build_program(spec, 1, Variant::publish);
        std::int64_t masters = 0, read = 0, gathered = 0;
        for (const auto& buffer : program.buffers) {
            masters += buffer.state == StateKind::master ? buffer.bytes : 0;
        }
        for (const auto& op : program.ops) {
            EXPECT_EQ(op.purpose, Purpose::publication) << op.label;
            for (const auto& operand : op.reads) {
                read += operand.role == Role::master ? operand.bytes() : 0;
            }
            gathered += op.kind == OpKind::all_gather ? 1 : 0;
        }
        EXPECT_GT(masters, 0);
        EXPECT_EQ(read, masters);
        EXPECT_GT(gathered, 0);
    }
}

// The step end sums the losses. Without them, a rank without gradients would not wait for its passes.
TEST(OptimizerPass, EndsAStepWithTheLossesOfAllMicroBatches) {
    auto spec = test::small_spec();
    spec.train.micro_batches = 3;
    const auto program = build_program(spec, 0, Variant::train);

    const auto end = std::ranges::find(program.ops, OpKind::step_end, &Op::kind);
    ASSERT_NE(end, program.ops.end());
    EXPECT_EQ(std::ranges::count(end->reads, Role::losses, &Operand::role), 3);
}

}  // namespace
}  // namespace ziggurat::schedule
