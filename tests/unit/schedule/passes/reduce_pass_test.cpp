#include "schedule/passes/reduce_pass.hpp"

#include <gtest/gtest.h>

#include <map>

#include "schedule/build_program.hpp"
#include "tests/support/flat_gaps.hpp"
#include "tests/unit/schedule/program_text.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

using spec::ReducePlan;
using Texts = std::vector<std::string>;

spec::RunSpec sharded(int data, int p, int g, int o, ReducePlan plan, int microbatches = 2) {
    auto spec = test::small_spec("llama", data);
    spec.sharding.parameters = p;
    spec.sharding.gradients = g;
    spec.sharding.optimizer = o;
    spec.sharding.reduce = plan;
    spec.train.micro_batches = microbatches;
    return spec;
}

Program program_of(const spec::RunSpec& spec, int rank = 0) {
    return build_program(spec, rank, Variant::train);
}

/// Returns the reduction of the gradients of unit 1, the layer: kind, group, micro-batch.
Texts reduction_of_layer(const Program& program) {
    Texts found;
    for (const auto& op : program.ops) {
        const bool is_gradients =
            op.purpose == Purpose::gradients || op.kind == OpKind::add || op.kind == OpKind::norm;
        if (op.unit == 1 && is_gradients) {
            std::string text = to_string(op.kind);
            if (op.group >= 0) {
                text += " over " + std::to_string(program.groups[static_cast<std::size_t>(op.group)].size());
            }
            found.push_back(op.microbatch < 0 ? text : text + " of " + std::to_string(op.microbatch));
        }
    }
    return found;
}

TEST(ReducePass, ReducesAtTheEndOnce) {
    EXPECT_EQ(reduction_of_layer(program_of(sharded(1, 1, 1, 1, ReducePlan::at_end))), (Texts{"norm"}));
    EXPECT_EQ(reduction_of_layer(program_of(sharded(4, 1, 1, 1, ReducePlan::at_end))),
              (Texts{"reduce_scatter over 4", "all_gather over 4", "norm"}));
    EXPECT_EQ(reduction_of_layer(program_of(sharded(4, 1, 1, 2, ReducePlan::at_end))),
              (Texts{"reduce_scatter over 4", "all_gather over 2", "norm"}));
    EXPECT_EQ(reduction_of_layer(program_of(sharded(4, 1, 4, 4, ReducePlan::at_end))),
              (Texts{"reduce_scatter over 4", "norm"}));
}

TEST(ReducePass, ReducesEachMicrobatchAndAddsUp) {
    EXPECT_EQ(reduction_of_layer(program_of(sharded(4, 1, 4, 4, ReducePlan::each_microbatch))),
              (Texts{"reduce_scatter over 4 of 0", "reduce_scatter over 4 of 1", "add of 1", "norm"}));
    EXPECT_EQ(reduction_of_layer(program_of(sharded(4, 1, 1, 2, ReducePlan::each_microbatch))),
              (Texts{"reduce_scatter over 4 of 0", "reduce_scatter over 4 of 1", "add of 1",
                     "all_gather over 2 of 1", "norm"}));
}

TEST(ReducePass, ReducesEachMicrobatchWithinASpanAndOverReplicasOnce) {
    EXPECT_EQ(reduction_of_layer(program_of(sharded(4, 1, 2, 4, ReducePlan::by_span, 3))),
              (Texts{"reduce_scatter over 2 of 0", "reduce_scatter over 2 of 1", "add of 1",
                     "reduce_scatter over 2 of 2", "add of 2", "reduce_scatter over 2 of 2", "norm"}));
}

TEST(ReducePass, RoundsEachMicrobatchIntoANarrowAccumulator) {
    const auto narrow = [](spec::RunSpec spec) {
        spec.precision.gradient = spec::DType::bf16;
        return program_of(spec);
    };
    const auto at_end = narrow(sharded(4, 1, 1, 2, ReducePlan::at_end));
    EXPECT_EQ(reduction_of_layer(at_end), (Texts{"add of 0", "add of 1", "reduce_scatter over 4 of 1",
                                                 "all_gather over 2 of 1", "norm"}));
    const auto each = narrow(sharded(4, 1, 4, 4, ReducePlan::each_microbatch));
    EXPECT_EQ(reduction_of_layer(each), (Texts{"reduce_scatter over 4 of 0", "add of 0",
                                               "reduce_scatter over 4 of 1", "add of 1", "norm"}));
    for (const auto* program : {&at_end, &each}) {
        for (const auto& op : program->ops) {
            if (op.kind == OpKind::add) {
                EXPECT_EQ(op.accumulate, op.microbatch > 0) << op.label;
                EXPECT_EQ(op.reads.front().bytes(), 2 * op.writes.front().bytes()) << op.label;
            }
            if (op.purpose == Purpose::gradients) {
                const auto type = program->buffers[static_cast<std::size_t>(op.reads.front().buffer)].type;
                EXPECT_EQ(op.payload, type) << op.label;
                EXPECT_EQ(type, program == &each ? spec::DType::f32 : spec::DType::bf16) << op.label;
            }
        }
    }
}

TEST(ReducePass, StartsAReductionBehindTheLastOpThatWritesTheGradient) {
    const auto program = program_of(sharded(2, 1, 1, 2, ReducePlan::at_end));
    const auto all = test::labels(program);
    const auto position = [&](const std::string& label) {
        return std::find(all.begin(), all.end(), label) - all.begin();
    };

    EXPECT_EQ(position("reduce_scatter: layers.0 gradients reduce_scatter"),
              position("layers.0.attn_norm backward 1") + 1);
    EXPECT_EQ(position("reduce_scatter: embedding gradients reduce_scatter"),
              position("embedding.embedding backward 1") + 1);
    // The compute lane handles sums after all of backward.
    EXPECT_EQ(position("fill: zeros for exact_sums on device"),
              position("reduce_scatter: embedding gradients reduce_scatter") + 1);
    EXPECT_EQ(position("fill: zeros for exact_sums on device") + 1, position("norm: head sum of squares"));
    EXPECT_EQ(position("norm: embedding sum of squares") + 2, position("step_end: norm and clip factor"))
        << "between them, the sum goes to the host";
}

TEST(ReducePass, AddsUpOneBucketLater) {
    const auto program = program_of(sharded(2, 1, 2, 2, ReducePlan::each_microbatch));
    const auto all = test::labels(program);
    const auto position = [&](const std::string& label) {
        return std::find(all.begin(), all.end(), label) - all.begin();
    };

    EXPECT_EQ(position("add: head 1 gradients added up"), position("layers.0.attn_norm backward 1") + 1);
    EXPECT_EQ(position("add: layers.0 1 gradients added up"), position("embedding.embedding backward 1") + 1);
}

TEST(ReducePass, CutsBlocksAsTheShardMapSays) {
    const auto spec = sharded(4, 1, 1, 2, ReducePlan::at_end);
    for (int rank = 0; rank < 4; ++rank) {
        const ModelLayout model{spec, rank};
        const auto program = program_of(spec, rank);
        for (const auto& op : program.ops) {
            if (op.kind != OpKind::reduce_scatter) {
                continue;
            }
            ASSERT_EQ(op.blocks.size(), 4u);
            for (int member = 0; member < 4; ++member) {
                const auto shard = model.shards[static_cast<std::size_t>(op.unit)].shard(4, member);
                EXPECT_EQ(op.blocks[static_cast<std::size_t>(member)],
                          (schedule::ByteRange{shard.begin * 4, shard.size() * 4}));
            }
            EXPECT_EQ(op.writes.front().runs.front(), op.blocks[static_cast<std::size_t>(rank)]);
        }
    }
}

TEST(ReducePass, PutsWholeUnitsInABucket) {
    auto spec = sharded(2, 1, 1, 1, ReducePlan::at_end);
    spec.model.layers = 4;
    const ModelLayout model{spec, 0};
    spec.overlap.bucket_elements = 2 * model.flats[1].padded_elements();
    const auto program = program_of(spec);

    std::vector<std::size_t> units;
    for (const auto& op : program.ops) {
        if (op.kind == OpKind::reduce_scatter) {
            units.push_back(op.reads.size());
            EXPECT_EQ(op.writes.size(), op.reads.size());
            EXPECT_EQ(op.blocks.size(), 2 * op.reads.size());
        }
    }
    // head and layer 3; layers 2 and 1; layer 0 and the embedding
    EXPECT_EQ(units, (std::vector<std::size_t>{2, 2, 2}));
    EXPECT_EQ(test::count(program, OpKind::norm), 6);
}

TEST(ReducePass, StoresTheFirstGradientAndAddsTheOthers) {
    const auto program = program_of(sharded(2, 1, 1, 1, ReducePlan::at_end));

    EXPECT_FALSE(test::op_of(program, "layers.0.qkv backward_weight 0").accumulate);
    EXPECT_TRUE(test::op_of(program, "layers.0.qkv backward_weight 1").accumulate);
    EXPECT_FALSE(test::op_of(program, "head.logits backward_weight 0 rows 0").accumulate);
    EXPECT_TRUE(test::op_of(program, "head.logits backward_weight 1 rows 0").accumulate);

    const auto each = program_of(sharded(2, 1, 2, 2, ReducePlan::each_microbatch));
    EXPECT_FALSE(test::op_of(each, "layers.0.qkv backward_weight 1").accumulate);
}

TEST(ReducePass, AddsTheLookupToATiedHeadAndZeroesPositionsOnce) {
    auto spec = test::small_spec("gpt2");
    const auto program = program_of(spec);
    const auto all = test::labels(program);

    EXPECT_TRUE(test::op_of(program, "embedding.embedding backward 0").accumulate);
    EXPECT_TRUE(test::op_of(program, "embedding.embedding backward 1").accumulate);
    EXPECT_EQ(std::count(all.begin(), all.end(), "fill: zeros for embedding.embedding backward 0"), 1);
    EXPECT_EQ(std::count(all.begin(), all.end(), "fill: zeros for embedding.embedding backward 1"), 0);
    const auto& zeros = test::op_of(program, "zeros for embedding.embedding backward 0");
    EXPECT_EQ(test::operands(program, zeros.writes), "d_position_table=embedding.gradients");
}

TEST(ReducePass, ZeroesTheGapsOfAGradientThatLivesForAMicrobatch) {
    const auto spec = sharded(2, 1, 2, 2, ReducePlan::each_microbatch);
    const ModelLayout model{spec, 0};
    const auto program = program_of(spec);

    for (const int u : model.units) {
        const auto gaps = test::gaps_of(model.flats[static_cast<std::size_t>(u)]);
        std::vector<layout::ElementRange> zeroed;
        for (const auto& op : program.ops) {
            if (op.kind == OpKind::fill && op.unit == u && op.microbatch == 1 &&
                op.label.starts_with("zeros where")) {
                for (const auto& run : op.writes.front().runs) {
                    zeroed.push_back({run.offset / 4, (run.offset + run.bytes) / 4});
                }
            }
        }
        EXPECT_EQ(zeroed, gaps) << u;
    }
}

/// Elements counted by the norms of all ranks, by (unit, tensor rank): each parameter must occur once.
TEST(ReducePass, CountsEachElementOnceInTheNorm) {
    for (const auto plan : {ReducePlan::at_end, ReducePlan::each_microbatch, ReducePlan::by_span}) {
        auto spec = sharded(4, 1, 2, 4, plan);
        spec.model.family = "gpt2";
        spec.model.kv_heads = 4;
        spec.model.tie_embeddings = true;
        spec.model.layers = 2;
        spec.parallel.tensor = 2;
        spec.parallel.stages = 2;
        spec.parallel.ranks = 16;
        std::int64_t counted = 0;
        std::int64_t expected = 0;
        for (int rank = 0; rank < 16; ++rank) {
            const ModelLayout model{spec, rank};
            const auto program = program_of(spec, rank);
            for (const auto& op : program.ops) {
                if (op.kind != OpKind::norm) {
                    continue;
                }
                const auto& gradient = op.reads.front();
                const auto first = program.buffers[static_cast<std::size_t>(gradient.buffer)].first_element;
                for (const auto& run : gradient.runs) {
                    for (const auto& range : model.flats[static_cast<std::size_t>(op.unit)].parameters()) {
                        const auto begin = std::max(range.begin, first + run.offset / 4);
                        const auto end = std::min(range.end, first + (run.offset + run.bytes) / 4);
                        counted += std::max<std::int64_t>(end - begin, 0);
                    }
                }
            }
            if (rank == 0) {
                for (const auto& unit : model.table.units) {
                    for (const auto& parameter : unit.parameters) {
                        expected += layout::local_elements(parameter, 1);
                    }
                }
            }
        }
        EXPECT_EQ(counted, expected);
    }
}

TEST(ReducePass, SumsNormGainsOverTheTensorAxisUnderSequenceParallelism) {
    auto spec = sharded(1, 1, 1, 1, ReducePlan::at_end);
    spec.parallel.tensor = spec.parallel.ranks = 2;
    spec.parallel.sequence = true;
    const auto program = program_of(spec);

    const auto& op = test::op_of(program, "layers.0 gradients all_reduce over tensor");
    std::int64_t bytes = 0;
    for (const auto& operand : op.reads) {
        bytes += operand.bytes();
    }
    EXPECT_EQ(bytes, 2 * 32 * 4);
    EXPECT_EQ(op.blocks.size(), 2 * op.reads.size());
}

TEST(ReducePass, AddsATiedTableAndItsCopyAcrossStages) {
    auto spec = test::small_spec("gpt2", 2);
    spec.model.layers = 2;
    spec.parallel.stages = 2;
    spec.parallel.ranks = 4;
    for (const int rank : {1, 3}) {
        const auto program = program_of(spec, rank);
        const auto& op = test::op_of(program, "embedding gradients all_reduce over first and last stage");

        EXPECT_EQ(program.groups[static_cast<std::size_t>(op.group)].members, (std::vector<int>{1, 3}));
    }
}

}  // namespace
}  // namespace ziggurat::schedule
