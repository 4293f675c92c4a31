#include "schedule/expand/expand.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/made_up_pairs.hpp"
#include "tests/unit/schedule/program_text.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

using Labels = std::vector<std::string>;
using test::labels;
using test::op_of;
using test::operands;

Program expanded(const spec::RunSpec& spec, int rank = 0, Variant variant = Variant::train) {
    const ModelLayout model{spec, rank};
    std::vector<Slot> slots;
    if (variant == Variant::train) {
        slots = pipeline_order({spec.parallel.pipeline_schedule, spec.parallel.stages,
                                spec.parallel.chunks_per_stage, static_cast<int>(spec.train.micro_batches)},
                               model.stage);
    } else {
        slots = {{Slot::Pass::forward, 0, 0}};
    }
    return expand(spec, model, variant, slots).program;
}

spec::RunSpec one_microbatch(const std::string& family) {
    auto spec = test::small_spec(family);
    spec.train.micro_batches = 1;
    return spec;
}

/// Returns the unit passes of a program as texts: unit, direction (f, b) and micro-batch.
std::vector<std::string> passes_of(const Program& program) {
    std::vector<std::string> found;
    for (const auto& op : program.ops) {
        const bool is_forward = op.direction == Direction::forward && op.unit <= program.layers;
        const bool is_head = op.unit > program.layers;
        const auto text = std::to_string(static_cast<int>(op.unit)) +
                          (is_head      ? "h"
                           : is_forward ? "f"
                                        : "b") +
                          std::to_string(op.microbatch);
        if (op.kind == OpKind::compute && (found.empty() || found.back() != text)) {
            found.push_back(text);
        }
    }
    return found;
}

TEST(Expand, ByLayerRunsAllMicroBatchesOfAUnitBeforeTheNext) {
    auto spec = test::small_spec("llama");
    spec.model.layers = 2;
    spec.train.accumulate = spec::AccumulationOrder::by_layer;

    EXPECT_EQ(passes_of(expanded(spec)), (Labels{"0f0", "0f1", "1f0", "1f1", "2f0", "2f1", "3h0", "3h1",
                                                 "2b0", "2b1", "1b0", "1b1", "0b0", "0b1"}));
}

TEST(Expand, ByLayerRunsRangesOfRecomputationAsOne) {
    auto spec = test::small_spec("llama");
    spec.model.layers = 3;
    spec.train.accumulate = spec::AccumulationOrder::by_layer;
    spec.recompute = {spec::RecomputeKind::full, 2};

    EXPECT_EQ(passes_of(expanded(spec)),
              (Labels{"0f0", "0f1", "1f0", "2f0", "1f1", "2f1", "3f0", "3f1", "4h0", "4h1", "3b0", "3b1",
                      "2b0", "1b0", "2b1", "1b1", "0b0", "0b1"}));
}

TEST(Expand, WritesAStepOfGpt2) {
    const auto program = expanded(one_microbatch("gpt2"));

    EXPECT_EQ(labels(program), (Labels{
                                   "embedding.embedding forward 0",
                                   "layers.0.attn_norm forward 0",
                                   "layers.0.qkv forward 0",
                                   "layers.0.attention forward 0",
                                   "layers.0.projection forward 0",
                                   "layers.0.mlp_norm forward 0",
                                   "layers.0.mlp_in forward 0",
                                   "layers.0.activation forward 0",
                                   "layers.0.mlp_out forward 0",
                                   "layers.0.residual forward 0",
                                   "head.final_norm forward 0",
                                   "head.logits pack 0",
                                   "head.logits forward 0 rows 0",
                                   "loss: head.loss backward 0 rows 0",
                                   "head.logits backward_input 0 rows 0",
                                   "head.logits backward_weight 0 rows 0",
                                   "fill: zeros for head.final_norm backward 0",
                                   "head.final_norm backward 0",
                                   "layers.0.mlp_out backward_input 0",
                                   "layers.0.mlp_out backward_weight 0",
                                   "layers.0.activation backward 0",
                                   "layers.0.mlp_in backward_input 0",
                                   "layers.0.mlp_in backward_weight 0",
                                   "layers.0.mlp_norm backward 0",
                                   "layers.0.projection backward_input 0",
                                   "layers.0.projection backward_weight 0",
                                   "layers.0.attention backward 0",
                                   "layers.0.qkv backward_input 0",
                                   "layers.0.qkv backward_weight 0",
                                   "layers.0.attn_norm backward 0",
                                   "embedding.embedding backward 0",
                               }));
}

TEST(Expand, EvaluatesWithForwardOnly) {
    const auto program = expanded(one_microbatch("llama"), 0, Variant::evaluate);

    EXPECT_EQ(labels(program), (Labels{
                                   "embedding.embedding forward 0",
                                   "layers.0.attn_norm forward 0",
                                   "layers.0.qkv forward 0",
                                   "layers.0.rope forward 0",
                                   "layers.0.attention forward 0",
                                   "layers.0.projection forward 0",
                                   "layers.0.mlp_norm forward 0",
                                   "layers.0.mlp_in forward 0",
                                   "layers.0.activation forward 0",
                                   "layers.0.mlp_out forward 0",
                                   "layers.0.residual forward 0",
                                   "head.final_norm forward 0",
                                   "head.logits pack 0",
                                   "head.logits forward 0 rows 0",
                                   "loss: head.loss forward 0 rows 0",
                               }));
    EXPECT_EQ(operands(program, op_of(program, "head.logits pack 0").writes),
              "packed_forward=head packed_forward");
    EXPECT_EQ(operands(program, op_of(program, "head.loss forward 0 rows 0").writes), "losses=losses");
}

TEST(Expand, PacksNothingWhereTheDeviceReadsWeightsAsTheyLie) {
    auto spec = one_microbatch("llama");
    spec.tiers.device = spec::DeviceKind::cuda;
    const auto program = expanded(spec);

    for (const auto& op : program.ops) {
        EXPECT_FALSE(op.kind == OpKind::compute && op.direction == Direction::none) << op.label;
    }
    EXPECT_EQ(operands(program, op_of(program, "head.logits forward 0 rows 0").reads),
              "input=head.final_norm.out weight=head.parameters");
    EXPECT_EQ(operands(program, op_of(program, "head.logits backward_input 0 rows 0").reads),
              "d_output=logits of rows 0 weight=head.parameters");
}

TEST(Expand, JoinsParametersOfOneRole) {
    const auto spec = one_microbatch("llama");
    const auto program = expanded(spec);
    const auto& op = op_of(program, "layers.0.qkv forward 0");

    ASSERT_EQ(operands(program, op.reads), "input=layers.0.attn_norm.out weight=layers.0.parameters");
    const auto& weight = op.reads[1];
    ASSERT_EQ(weight.runs.size(), 1u);
    EXPECT_EQ(weight.runs[0].bytes, (32 + 2 * 16) * 32 * 4);
    EXPECT_EQ(weight.runs[0].offset, 32 * 4);  // after the gain of the norm
}

TEST(Expand, SharesGradientsAlongTheResidualStream) {
    const auto program = expanded(one_microbatch("gpt2"));
    const std::string stream = "d head.x";

    EXPECT_EQ(operands(program, op_of(program, "layers.0.mlp_out backward_weight 0").reads),
              "input=layers.0.mlp.active d_output=" + stream);
    EXPECT_EQ(operands(program, op_of(program, "layers.0.mlp_norm backward 0").reads),
              "d_output=d layers.0.mlp_norm.out d_input=" + stream +
                  " sum=layers.0.mlp_norm.sum inv_std=layers.0.mlp_norm.inv_std "
                  "mean=layers.0.mlp_norm.mean gain=layers.0.parameters");
    EXPECT_EQ(operands(program, op_of(program, "layers.0.projection backward_input 0").reads),
              "d_output=" + stream + " weight=layers.0.parameters");
    EXPECT_EQ(operands(program, op_of(program, "embedding.embedding backward 0").reads),
              "d_output=" + stream + " tokens=tokens positions=positions");
}

TEST(Expand, GivesBranchesOwnGradientsUnderDropout) {
    auto spec = one_microbatch("gpt2");
    spec.model.dropout = 0.1;
    const auto program = expanded(spec);

    EXPECT_EQ(operands(program, op_of(program, "layers.0.residual backward 0").writes),
              "d_branch=d layers.0.mlp.branch");
    EXPECT_EQ(operands(program, op_of(program, "layers.0.mlp_out backward_weight 0").reads),
              "input=layers.0.mlp.active d_output=d layers.0.mlp.branch");
    const auto norm = operands(program, op_of(program, "layers.0.mlp_norm backward 0").writes);
    EXPECT_NE(norm.find("d_input=d head.x d_branch=d layers.0.attention.branch"), std::string::npos);
    for (const char* label : {"embedding.embedding forward 0", "layers.0.attention forward 0",
                              "layers.0.attention backward 0", "embedding.embedding backward 0"}) {
        EXPECT_NE(operands(program, op_of(program, label).reads).find("samples=samples step_inputs="),
                  std::string::npos)
            << label;
    }
    const auto evaluated = expanded(spec, 0, Variant::evaluate);
    EXPECT_EQ(operands(evaluated, op_of(evaluated, "layers.0.attention forward 0").reads).find("samples"),
              std::string::npos);
}

TEST(Expand, GivesBranchesOwnGradientsIfTheyHaveAFactor) {
    auto spec = one_microbatch("llama");
    spec.model.multiplier.residual = 0.22;
    const auto program = expanded(spec);

    const auto& residual = op_of(program, "layers.0.residual backward 0");
    EXPECT_EQ(operands(program, residual.reads), "d_output=d head.x");
    EXPECT_EQ(operands(program, residual.writes), "d_branch=d layers.0.mlp.branch");
    EXPECT_EQ(operands(program, op_of(program, "layers.0.mlp_out backward_weight 0").reads),
              "input=layers.0.mlp.active d_output=d layers.0.mlp.branch");
    const auto norm = operands(program, op_of(program, "layers.0.mlp_norm backward 0").writes);
    EXPECT_NE(norm.find("d_input=d head.x d_branch=d layers.0.attention.branch"), std::string::npos) << norm;
}

TEST(Expand, TurnsQueriesAndKeysInTheirBuffer) {
    const auto program = expanded(one_microbatch("llama"));
    const auto& forward = op_of(program, "layers.0.rope forward 0");
    const auto& backward = op_of(program, "layers.0.rope backward 0");

    EXPECT_EQ(forward.reads.front().buffer, forward.writes.front().buffer);
    EXPECT_EQ(program.find_read(backward, Role::d_output)->buffer,
              program.find_write(backward, Role::d_input)->buffer);
}

TEST(Expand, TakesTheHeadByBlocksOfRows) {
    auto spec = one_microbatch("llama");
    spec.data.seq = 1100;
    const auto program = expanded(spec);

    std::vector<std::pair<std::int64_t, std::int64_t>> rows;
    std::set<int> logits;
    for (const auto& op : program.ops) {
        if (op.kind == OpKind::loss) {
            rows.emplace_back(op.row_begin, op.row_end);
            logits.insert(program.find_write(op, Role::d_input)->buffer);
            EXPECT_EQ(program.find_write(op, Role::losses)->runs,
                      (schedule::ByteRangeList{{op.row_begin * 4, (op.row_end - op.row_begin) * 4}}));
            EXPECT_EQ(program.find_read(op, Role::mask)->runs,
                      (schedule::ByteRangeList{{op.row_begin, op.row_end - op.row_begin}}));
        }
    }
    EXPECT_EQ(rows,
              (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1024}, {1024, 2048}, {2048, 2200}}));
    EXPECT_EQ(logits.size(), 3u);
    const auto& product = op_of(program, "head.logits backward_input 0 rows 1024");
    EXPECT_EQ(program.find_write(product, Role::d_input)->runs,
              (schedule::ByteRangeList{{1024 * 32 * 4, 1024 * 32 * 4}}));
}

/// Returns the labels of the ops of the head's last phases, without the micro-batch.
Labels ops_of_logits(const Program& program) {
    Labels found;
    for (const auto& op : program.ops) {
        const bool is_of_logits = op.label.starts_with("head.logits") || op.kind == OpKind::loss;
        if (is_of_logits) {
            found.push_back(op.label.substr(5));
        }
    }
    return found;
}

TEST(Expand, WeighsTokensOfPairsBetweenTwoSweepsOfTheHead) {
    auto spec = test::with_pairs(one_microbatch("llama"));
    const auto one_block = expanded(spec);
    EXPECT_EQ(ops_of_logits(one_block),
              (Labels{"logits pack 0", "logits forward 0 rows 0", "loss forward 0 rows 0 statistics",
                      "loss forward 0 losses of rows 0", "pairs 0", "loss backward 0 rows 0",
                      "logits backward_input 0 rows 0", "logits backward_weight 0 rows 0"}));
    const auto& pairs = op_of(one_block, "head.pairs 0");
    EXPECT_EQ(operands(one_block, pairs.reads), "losses=losses pairs=pairs references=references");
    EXPECT_EQ(operands(one_block, pairs.writes), "token_weights=weights of tokens pair_results=pair_results");

    spec.data.seq = 600;
    const auto two_blocks = expanded(spec);
    const auto labels = ops_of_logits(two_blocks);
    EXPECT_EQ(std::ranges::count(labels, "logits recompute 0 rows 0"), 1);
    EXPECT_EQ(std::ranges::count(labels, "logits recompute 0 rows 1024"), 1);
    const auto& gradient = op_of(two_blocks, "head.loss backward 0 rows 1024");
    EXPECT_EQ(two_blocks.find_read(gradient, Role::token_weights)->runs,
              (schedule::ByteRangeList{{1024 * 4, 176 * 4}}));

    const auto evaluated = expanded(spec, 0, Variant::evaluate);
    EXPECT_LT(evaluated.trainer_buffers.of(BatchTensor::pairs, 0), 0);
}

TEST(Expand, LetsATiedHeadUseTheEmbedding) {
    const auto tied = expanded(one_microbatch("gpt2"));
    const auto untied = expanded(one_microbatch("llama"));

    EXPECT_EQ(operands(tied, op_of(tied, "head.logits pack 0").reads), "weight=embedding.parameters");
    EXPECT_EQ(operands(untied, op_of(untied, "head.logits pack 0").reads), "weight=head.parameters");
    const auto& weight = op_of(tied, "head.logits backward_weight 0 rows 0");
    EXPECT_EQ(tied.buffers[static_cast<std::size_t>(tied.find_write(weight, Role::d_weight)->buffer)].name,
              "embedding.gradients");
}

Labels collectives(const Program& program) {
    Labels found;
    for (const auto& op : program.ops) {
        if (op.purpose == Purpose::tensor) {
            found.push_back(op.label);
        }
    }
    return found;
}

TEST(Expand, SumsOverTheTensorAxisWhereMegatronDoes) {
    auto spec = one_microbatch("llama");
    spec.parallel.tensor = spec.parallel.ranks = 2;

    EXPECT_EQ(collectives(expanded(spec)), (Labels{
                                               "embedding all_reduce forward 0",
                                               "layers.0 all_reduce forward 0",
                                               "layers.0 all_reduce forward 0",
                                               "head all_gather forward 0",
                                               "head all_reduce backward 0",
                                               "layers.0 all_reduce backward 0",
                                               "layers.0 all_reduce backward 0",
                                           }));
}

TEST(Expand, ScattersAndGathersTokensUnderSequenceParallelism) {
    auto spec = one_microbatch("llama");
    spec.parallel.tensor = spec.parallel.ranks = 2;
    spec.parallel.sequence = true;
    const auto program = expanded(spec);

    EXPECT_EQ(collectives(program), (Labels{
                                        "embedding reduce_scatter forward 0",
                                        "layers.0 all_gather forward 0",
                                        "layers.0 reduce_scatter forward 0",
                                        "layers.0 all_gather forward 0",
                                        "layers.0 reduce_scatter forward 0",
                                        "head all_gather forward 0",
                                        "head all_gather forward 0",
                                        "head reduce_scatter backward 0",
                                        "layers.0 all_gather backward 0",
                                        "layers.0 all_gather backward 0",
                                        "layers.0 reduce_scatter backward 0",
                                        "layers.0 all_gather backward 0",
                                        "layers.0 all_gather backward 0",
                                        "layers.0 reduce_scatter backward 0",
                                        "embedding all_gather backward 0",
                                    }));
    EXPECT_EQ(op_of(program, "layers.0.mlp_norm forward 0").row_end, 16);
    EXPECT_EQ(op_of(program, "layers.0.mlp_in forward 0").row_end, 32);
}

TEST(Expand, SumsBranchesSideBySideOverTheTensorAxisAtOnce) {
    auto spec = one_microbatch("gpt_neox");
    spec.parallel.tensor = spec.parallel.ranks = 2;

    EXPECT_EQ(collectives(expanded(spec)), (Labels{
                                               "embedding all_reduce forward 0",
                                               "layers.0 all_reduce forward 0",
                                               "head all_gather forward 0",
                                               "head all_reduce backward 0",
                                               "layers.0 all_reduce backward 0",
                                               "layers.0 all_reduce backward 0",
                                           }));
}

TEST(Expand, GathersTheGradientOfBranchesSideBySideOnceUnderSequenceParallelism) {
    auto spec = one_microbatch("gpt_neox");
    spec.parallel.tensor = spec.parallel.ranks = 2;
    spec.parallel.sequence = true;

    EXPECT_EQ(collectives(expanded(spec)), (Labels{
                                               "embedding reduce_scatter forward 0",
                                               "layers.0 all_gather forward 0",
                                               "layers.0 all_gather forward 0",
                                               "layers.0 reduce_scatter forward 0",
                                               "head all_gather forward 0",
                                               "head all_gather forward 0",
                                               "head reduce_scatter backward 0",
                                               "layers.0 all_gather backward 0",
                                               "layers.0 all_gather backward 0",
                                               "layers.0 reduce_scatter backward 0",
                                               "layers.0 all_gather backward 0",
                                               "layers.0 reduce_scatter backward 0",
                                               "embedding all_gather backward 0",
                                           }));
}

/// Both branches read a buffer as the gradient of their outputs; the norms add to it afterwards.
TEST(Expand, LeavesTheGradientOfBranchesSideBySideAloneUntilBothHaveReadIt) {
    const auto program = expanded(one_microbatch("gpt_neox"));
    std::vector<std::string> readers;
    int gradient = -1;
    for (const auto& op : program.ops) {
        const bool is_of_layer = op.kind == OpKind::compute && op.unit == 1;
        const auto* d_output = program.find_read(op, Role::d_output);
        if (!is_of_layer || d_output == nullptr) {
            continue;
        }
        if (gradient < 0) {
            gradient = d_output->buffer;
        }
        const auto* d_input = program.find_write(op, Role::d_input);
        if (d_output->buffer == gradient) {
            readers.push_back("reads: " + op.label);
        } else if (d_input != nullptr && d_input->buffer == gradient) {
            readers.push_back("adds: " + op.label);
        }
    }
    EXPECT_EQ(readers, (Labels{
                           "reads: layers.0.mlp_out backward_input 0",
                           "reads: layers.0.mlp_out backward_weight 0",
                           "reads: layers.0.projection backward_input 0",
                           "reads: layers.0.projection backward_weight 0",
                           "adds: layers.0.mlp_norm backward 0",
                           "adds: layers.0.attn_norm backward 0",
                       }));
}

/// In layers with norms after the branches, a product and the sum at its branch's end read the stream.
TEST(Expand, AddsTheGradientsOfTwoReadersOfTheStream) {
    const auto program = expanded(one_microbatch("olmo2"));
    const std::string stream = "d head.x";
    for (const auto& [product, addend] :
         {std::pair{"layers.0.mlp_in", "d layers.0.attn_residual.out"}, {"layers.0.qkv", "d layers.0.x"}}) {
        const auto& through = op_of(program, std::string{product} + " backward_input 0");
        const auto& sum = op_of(program, std::string{product} + " backward 0 sum");
        EXPECT_EQ(program.buffers[program.find_write(through, Role::d_input)->buffer].name, addend);
        EXPECT_EQ(operands(program, sum.reads), "d_input=" + stream + " d_addend=" + addend);
        EXPECT_EQ(operands(program, sum.writes), "d_input=" + stream);
    }
    EXPECT_EQ(operands(program, op_of(program, "embedding.embedding backward 0").reads),
              "d_output=" + stream + " tokens=tokens positions=positions");
}

/// No other op has left a gradient of the branch, so none is zeroed first.
TEST(Expand, WritesTheGradientOfABranchBeforeItsNorm) {
    const auto program = expanded(one_microbatch("olmo2"));
    const auto& norm = op_of(program, "layers.0.mlp_post_norm backward 0");
    EXPECT_EQ(program.find_read(norm, Role::d_input), nullptr);
    EXPECT_EQ(program.buffers[program.find_write(norm, Role::d_input)->buffer].name, "d layers.0.mlp.branch");
    for (const auto& op : program.ops) {
        EXPECT_TRUE(op.kind != OpKind::fill || op.unit != 1) << op.label;
    }
}

/// The last collective of backward's attention sums the gradients of the sums.
TEST(Expand, SumsSquaresOfQueriesAndKeysOverTheTensorAxisInFloat) {
    auto spec = one_microbatch("olmo2");
    spec.precision.compute = spec::DType::bf16;
    spec.parallel.tensor = spec.parallel.ranks = 2;
    for (const bool sequence : {false, true}) {
        spec.parallel.sequence = sequence;
        const auto program = expanded(spec);
        int sums = 0;
        for (const auto& op : program.ops) {
            const bool is_float = op.payload == spec::DType::f32;
            if (op.purpose != Purpose::tensor || op.unit != 1 || !is_float) {
                continue;
            }
            ++sums;
            EXPECT_EQ(op.kind, OpKind::all_reduce);
            EXPECT_EQ(op.writes.front().bytes(), 32 * 2 * 4) << "of 32 tokens, two sums";
        }
        EXPECT_EQ(sums, 2);
    }
}

TEST(Expand, AddsTheBiasOfASumOnce) {
    auto spec = one_microbatch("gpt2");
    spec.parallel.tensor = spec.parallel.ranks = 2;
    for (const int rank : {0, 1}) {
        const auto program = expanded(spec, rank);
        for (const char* label : {"layers.0.projection forward 0", "layers.0.mlp_out forward 0"}) {
            EXPECT_EQ(program.find_read(op_of(program, label), Role::bias) != nullptr, rank == 0) << label;
        }
        EXPECT_NE(program.find_read(op_of(program, "layers.0.qkv forward 0"), Role::bias), nullptr);
        const auto& lookup = op_of(program, "embedding.embedding forward 0");
        EXPECT_EQ(program.find_read(lookup, Role::position_table) != nullptr, rank == 0);
    }
}

TEST(Expand, PassesActivationsFromStageToStage) {
    auto spec = one_microbatch("llama");
    spec.model.layers = 2;
    spec.parallel.stages = spec.parallel.ranks = 2;
    const auto messages = [&](int rank) {
        Labels found;
        const auto program = expanded(spec, rank);
        for (const auto& op : program.ops) {
            if (op.purpose == Purpose::pipeline) {
                found.push_back(op.label + " tag " + std::to_string(op.tag) + " on " +
                                program.lanes[static_cast<std::size_t>(op.lane)].name);
            }
        }
        return found;
    };

    EXPECT_EQ(messages(0), (Labels{"send forward 0 to stage 1 tag 0 on channel[stages 0-1 forward]",
                                   "receive backward 0 from stage 1 tag 1 on channel[stages 0-1 backward]"}));
    EXPECT_EQ(messages(1), (Labels{"receive forward 0 from stage 0 tag 0 on channel[stages 0-1 forward]",
                                   "send backward 0 to stage 0 tag 1 on channel[stages 0-1 backward]"}));
}

TEST(Expand, MovesWeightProductsToTheirSlotUnderZeroBubble) {
    auto spec = one_microbatch("gpt2");
    spec.model.layers = 2;
    spec.parallel.stages = spec.parallel.ranks = 2;
    spec.parallel.pipeline_schedule = spec::PipelineSchedule::zero_bubble;
    const auto program = expanded(spec, 1);
    const auto position = [&](const std::string& label) {
        const int index = test::index_of(program, label);
        EXPECT_GE(index, 0) << label;
        return index;
    };

    for (const char* product : {"mlp_in", "mlp_out", "projection", "qkv"}) {
        const auto label = std::string{"layers.1."} + product + " backward_weight 0";
        EXPECT_GT(position(label), position("send backward 0 to stage 0")) << label;
        EXPECT_TRUE(op_of(program, label).is_deferred) << label;
    }
    EXPECT_LT(position("head.logits backward_weight 0 rows 0"), position("layers.1.mlp_out backward_input 0"))
        << "the head's gradients of logits are not kept";
    // Later ops do not add to the gradient of the residual stream that a deferred product reads.
    const auto& read = operands(program, op_of(program, "layers.1.mlp_out backward_weight 0").reads);
    const auto& sum = op_of(program, "layers.1.mlp_norm backward 0");
    EXPECT_NE(program.find_read(sum, Role::d_input)->buffer, program.find_write(sum, Role::d_input)->buffer)
        << read;
}

TEST(Expand, DefersNoWeightProductsOnTheFirstStage) {
    auto spec = test::small_spec("gpt2");
    spec.model.layers = 2;
    spec.parallel.stages = spec.parallel.ranks = 2;
    const auto in_turn = labels(expanded(spec, 0));
    spec.parallel.pipeline_schedule = spec::PipelineSchedule::zero_bubble;

    EXPECT_EQ(labels(expanded(spec, 0)), in_turn);
}

TEST(Expand, CountsForwardAndTwiceAsManyFlopsBackward) {
    const auto program = expanded(one_microbatch("llama"));
    double forward = 0;
    double backward = 0;
    for (const auto& op : program.ops) {
        (op.direction == Direction::forward ? forward : backward) += op.flops;
    }
    const double weights = 32 * 64 + 32 * 32 + 32 * 96 + 48 * 32 + 64 * 32;
    const double attention = 4.0 * 32 * (16 + 1) / 2;

    EXPECT_DOUBLE_EQ(forward, 32 * (2 * weights + attention));
    EXPECT_DOUBLE_EQ(backward, 2 * forward);
}

}  // namespace
}  // namespace ziggurat::schedule
