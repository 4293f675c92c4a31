#include "schedule/build_program.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "schedule/expand/expand.hpp"
#include "tests/support/made_up_pairs.hpp"
#include "tests/unit/schedule/program_text.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

using test::count;

TEST(BuildProgram, HasTheOpsOfAHandCount) {
    auto spec = test::small_spec("llama", 2);
    spec.model.layers = 3;
    spec.train.micro_batches = 4;
    spec.tiers.chunk_elements = 4096;
    const ModelLayout model{spec, 0};
    std::int64_t elements = 0;
    for (const auto& flat : model.flats) {
        elements += flat.padded_elements();
    }

    const auto program = build_program(spec, model, Variant::train);

    // forward: 10 phases a layer, lookup, final norm, pack, logits; backward: 4 products twice, 4 others,
    // head 3, lookup
    const int forward = 3 * 10 + 1 + 1 + 2;
    const int backward = 3 * (4 * 2 + 5) + 3 + 1;
    EXPECT_EQ(count(program, OpKind::compute), 4 * (forward + backward));
    EXPECT_EQ(count(program, OpKind::loss), 4);
    EXPECT_EQ(count(program, OpKind::fill), 1 + 4);  // exact sums; the residual stream's gradient at the head
    EXPECT_EQ(count(program, OpKind::reduce_scatter), 5);
    EXPECT_EQ(count(program, OpKind::all_gather), 5);
    EXPECT_EQ(count(program, OpKind::norm), 5);
    EXPECT_EQ(count(program, OpKind::step_end), 1);
    EXPECT_EQ(count(program, OpKind::update), (elements + 4095) / 4096);
}

/// Bytes of state per rank: 4, 4 and 8 (12 and 2 in bf16) per padded element, each divided by its span.
TEST(BuildProgram, HoldsTheStateThatSpansLeave) {
    using spec::ReducePlan;
    struct Case {
        int p, g, o;
        ReducePlan plan;
        int gradient_span;
    };
    for (const auto& c : {Case{1, 1, 1, ReducePlan::at_end, 1}, Case{1, 1, 8, ReducePlan::at_end, 1},
                          Case{1, 8, 8, ReducePlan::each_microbatch, 8},
                          Case{8, 8, 8, ReducePlan::by_span, 8}, Case{2, 4, 8, ReducePlan::by_span, 4}}) {
        for (const auto type : {spec::DType::f32, spec::DType::bf16}) {
            auto spec = test::small_spec("llama", 8);
            spec.sharding.parameters = c.p;
            spec.sharding.gradients = c.g;
            spec.sharding.optimizer = c.o;
            spec.sharding.reduce = c.plan;
            spec.precision.compute = type;
            const ModelLayout model{spec, 5};
            std::int64_t elements = 0;
            for (const auto& flat : model.flats) {
                elements += flat.padded_elements();
            }
            const bool is_f32 = type == spec::DType::f32;
            const auto program = build_program(spec, model, Variant::train);

            std::map<MemoryCategory, std::int64_t> bytes;
            for (const auto& buffer : program.buffers) {
                if (buffer.lifetime == Lifetime::persistent) {
                    bytes[buffer.consumer] += buffer.bytes;
                }
            }

            EXPECT_EQ(bytes[MemoryCategory::parameters], elements / c.p * (is_f32 ? 4 : 2));
            EXPECT_EQ(bytes[MemoryCategory::gradients], elements / c.gradient_span * 4);
            EXPECT_EQ(bytes[MemoryCategory::optimizer], elements / c.o * (is_f32 ? 8 : 12));
        }
    }
}

TEST(BuildProgram, NamesEveryBufferOfABatchForEveryMicrobatch) {
    auto spec = test::with_pairs(test::small_spec());
    spec.train.micro_batches = 3;
    const auto train = build_program(spec, 0, Variant::train);
    const auto evaluate = build_program(spec, 0, Variant::evaluate);

    std::set<int> filled;
    for (int m = 0; m < 3; ++m) {
        for (int b = 0; b < num_batch_tensors; ++b) {
            const auto tensor = static_cast<BatchTensor>(b);
            const int index = train.trainer_buffers.of(tensor, m);
            if (tensor == BatchTensor::window_starts || tensor == BatchTensor::cache_sequences ||
                tensor == BatchTensor::page_table || tensor == BatchTensor::window_page_table) {
                EXPECT_EQ(index, -1) << "the model has no window, and the program no KV cache";
                continue;
            }
            const auto& buffer = train.buffer(index);
            EXPECT_TRUE(filled.insert(index).second);
            EXPECT_EQ(buffer.name, to_string(role_of(tensor)));
            EXPECT_EQ(buffer.lifetime, Lifetime::inputs);
            EXPECT_EQ(buffer.microbatch, m);
        }
    }
    EXPECT_EQ(train.microbatches, 3);
    EXPECT_EQ(evaluate.microbatches, 1);
    for (const auto tensor : {BatchTensor::pairs, BatchTensor::references, BatchTensor::pair_results}) {
        EXPECT_EQ(evaluate.trainer_buffers.of(tensor, 0), -1);
        EXPECT_EQ(build_program(test::small_spec(), 0, Variant::train).trainer_buffers.of(tensor, 0), -1);
    }
}

TEST(BuildProgram, ChangesNoStateWhenItEvaluates) {
    const auto program = build_program(test::small_spec("gpt2"), 0, Variant::evaluate);

    for (const auto& op : program.ops) {
        for (const auto& operand : op.writes) {
            EXPECT_NE(program.buffers[static_cast<std::size_t>(operand.buffer)].lifetime,
                      Lifetime::persistent)
                << op.label;
        }
    }
}

TEST(BuildProgram, IsTheSameForTheSameSpec) {
    const auto spec = test::small_spec("gpt2", 2);

    EXPECT_EQ(test::labels(build_program(spec, 1, Variant::train)),
              test::labels(build_program(spec, 1, Variant::train)));
}

/// Members of a group run its collectives in one order, independent of their other collectives.
TEST(BuildProgram, OrdersCollectivesAlikeOnAllMembers) {
    auto spec = test::small_spec("gpt2", 4);
    spec.model.layers = 4;
    spec.train.micro_batches = 4;
    spec.parallel.stages = 2;
    spec.parallel.tensor = 2;
    spec.parallel.sequence = true;
    spec.parallel.ranks = 16;
    spec.sharding.gradients = 2;
    spec.sharding.optimizer = 4;
    spec.sharding.reduce = spec::ReducePlan::by_span;
    spec.recompute.kind = spec::RecomputeKind::full;
    std::map<std::pair<std::string, std::vector<int>>, std::set<std::vector<std::string>>> orders;
    for (int rank = 0; rank < 16; ++rank) {
        const auto program = build_program(spec, rank, Variant::train);
        std::map<int, std::vector<std::string>> of_group;
        for (const auto& op : program.ops) {
            if (op.group >= 0 && op.purpose != Purpose::pipeline) {
                of_group[op.group].push_back(op.label);
            }
        }
        for (const auto& [group, order] : of_group) {
            const auto& described = program.groups[static_cast<std::size_t>(group)];
            orders[{described.name, described.members}].insert(order);
        }
    }

    EXPECT_GT(orders.size(), 10u);
    for (const auto& [group, found] : orders) {
        EXPECT_EQ(found.size(), 1u) << group.first;
    }
}

}  // namespace
}  // namespace ziggurat::schedule
