#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "parallel", .doc = "How ranks divide the work."},
    {.path = "parallel.tensor", .shorthand = "degree", .doc = "Ranks that share each layer."},
    {.path = "parallel.tensor.degree", .type = Type::integer, .fallback = "1", .min = 1, .max = most_ranks,
     .on_resume = noted, .doc = "Ranks of a tensor group."},
    {.path = "parallel.tensor.mode", .type = Type::word, .fallback = "1d", .words = "1d 2d 2.5d 3d",
     .on_resume = noted, .doc = "1d: Megatron's columns and rows."},
    {.path = "parallel.sequence", .type = Type::boolean, .fallback = "false",
     .on_resume = noted, .doc = "Splits norms and residual stream by positions inside the tensor group."},
    {.path = "parallel.context", .shorthand = "degree", .doc = "Ranks that share each sequence."},
    {.path = "parallel.context.degree", .type = Type::integer, .fallback = "1", .min = 1, .max = most_ranks,
     .on_resume = noted, .doc = "Ranks of a context group."},
    {.path = "parallel.context.kind", .type = Type::word, .fallback = "ring", .words = "ring ulysses",
     .on_resume = noted, .doc = "ring: keys and values travel. ulysses: heads are exchanged for positions."},
    {.path = "parallel.pipeline", .shorthand = "stages", .doc = "Ranks that hold consecutive layers."},
    {.path = "parallel.pipeline.stages", .type = Type::integer, .fallback = "1", .min = 1, .max = most_ranks,
     .on_resume = noted, .doc = "Stages."},
    {.path = "parallel.pipeline.schedule", .type = Type::word, .fallback = "1f1b",
     .words = "gpipe 1f1b interleaved zero_bubble", .on_resume = noted,
     .doc = "Order of forward and backward over micro-batches."},
    {.path = "parallel.pipeline.chunks_per_stage", .type = Type::integer, .fallback = "1", .min = 1, .max = 1024,
     .on_resume = noted, .doc = "Runs of layers on each stage; more than 1 is for interleaved."},
    {.path = "parallel.pipeline.each", .type = Type::list, .fallback = "auto", .words = "auto", .on_resume = noted,
     .doc = "What each stage has, an entry for each; auto spreads layers so that the stage that computes most, the "
            "head's product with the vocabulary counted, computes least, and with it homes and recomputation that are auto "
            "are chosen for each stage, within the budget of its ranks."},
    {.path = "parallel.pipeline.each[].layers", .type = Type::integers, .min = 1, .max = 1e6, .on_resume = noted,
     .doc = "Layers of the stage; with several chunks a list, those of each."},
    {.path = "parallel.pipeline.each[].recompute", .shorthand = "kind",
     .doc = "Recomputation on the stage, where it is not that of the deck; recompute.split then holds for kind full."},
    {.path = "parallel.pipeline.each[].recompute.kind", .type = Type::word, .words = "none selective full auto",
     .on_resume = noted, .doc = "As recompute.kind, for the stage."},
    {.path = "parallel.pipeline.each[].recompute.every", .type = Type::integer, .noun = "units", .min = 1,
     .max = 10000, .on_resume = noted, .doc = "As recompute.every, for the stage."},
    {.path = "parallel.pipeline.each[].home",
     .doc = "Where state of the stage lives, where that is not as tiers.home says."},
    {.path = "parallel.pipeline.each[].home.parameters", .type = Type::home, .words = "auto",
     .on_resume = noted, .doc = "As tiers.home.parameters, for the stage."},
    {.path = "parallel.pipeline.each[].home.gradients", .type = Type::home, .words = "auto",
     .on_resume = noted, .doc = "As tiers.home.gradients, for the stage."},
    {.path = "parallel.pipeline.each[].home.optimizer", .type = Type::home, .words = "auto",
     .on_resume = noted, .doc = "As tiers.home.optimizer, for the stage."},
    {.path = "parallel.pipeline.each[].home.activations", .type = Type::home, .words = "auto",
     .on_resume = noted, .doc = "As tiers.home.activations, for the stage."},
    {.path = "parallel.data", .type = Type::integer, .fallback = "auto", .words = "auto", .min = 1,
     .max = most_ranks, .on_resume = noted,
     .doc = "Ranks that divide the global batch; auto is what the other degrees leave."},
    {.path = "parallel.order", .type = Type::word_list, .fallback = "[tensor, context, data, pipeline]",
     .words = "tensor context data pipeline", .on_resume = noted,
     .doc = "Axes of the mesh, fastest-varying first."},
    {.path = "parallel.threads", .type = Type::integer, .fallback = "auto", .words = "auto", .min = 1, .max = 4096,
     .on_resume = noted,
     .doc = "Host threads of a rank; auto: OMP_NUM_THREADS where that is set, else the rank's share of the cores that "
            "the job may use."},
    {.path = "parallel.transport", .type = Type::word, .fallback = "auto", .words = "auto nccl staged",
     .on_resume = noted,
     .doc = "What carries vectors of GPUs between ranks. nccl: NCCL, where each rank has a GPU of its own; sums of "
            "float are in an order of its own. staged: copies by way of the host's memory, with the host's sums. auto: nccl "
            "where it can be and there are ranks to talk to, else staged."},

    {.path = "sharding", .shorthand = "zero", .doc = "How state is cut over the data axis: a ZeRO stage, or three spans."},
    {.path = "sharding.zero", .type = Type::integer, .min = 0, .max = 3,
     .on_resume = noted, .doc = "0: nothing is cut; 1: optimizer; 2: and gradients; 3: and parameters."},
    {.path = "sharding.parameters", .type = Type::integer, .words = "all node auto", .min = 1, .max = most_ranks,
     .on_resume = noted, .doc = "Data ranks over which the parameters are cut."},
    {.path = "sharding.gradients", .type = Type::integer, .words = "all node auto", .min = 1, .max = most_ranks,
     .on_resume = noted,
     .doc = "Data ranks over which the gradients are cut: the span of parameters or that of optimizer."},
    {.path = "sharding.optimizer", .type = Type::integer, .words = "all node auto", .min = 1, .max = most_ranks,
     .on_resume = noted, .doc = "Data ranks over which master weights and moments are cut."},
    {.path = "sharding.leases", .type = Type::word, .fallback = "auto", .words = "auto pass step", .on_resume = noted,
     .doc = "For how long parameters that are cut are gathered. pass: for forward or backward of one micro-batch. "
            "step: once a step, but for weights in tiles. auto: step in a pipeline whose budgets hold that, else pass."},
    {.path = "sharding.secondary", .type = Type::integer, .fallback = "none", .words = "none node", .min = 2,
     .max = most_ranks, .on_resume = noted,
     .doc = "Data ranks over which a second copy of the parameters is cut, for leases after the first (hpZ)."},
    {.path = "sharding.reduce", .type = Type::word, .fallback = "auto",
     .words = "auto at_end each_microbatch by_span",
     .on_resume = noted, .doc = "The order in which gradients are added over micro-batches and ranks."},
    {.path = "sharding.sum_group", .type = Type::integer, .fallback = "node", .words = "node flat", .min = 1,
     .max = most_ranks, .on_resume = noted,
     .doc = "Sums run in rank order inside groups of this many data ranks, then over groups."},
};
// clang-format on
static_assert(say_what_resumes_do(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> parallel_rows() {
    return rows;
}

}  // namespace ziggurat::deck
