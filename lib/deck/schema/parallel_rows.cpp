#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "parallel", .doc = "Distribution of the work over ranks."},
    {.path = "parallel.tensor", .shorthand = "degree", .doc = "Ranks that share each layer."},
    {.path = "parallel.tensor.degree", .type = Type::integer, .fallback = "1", .keywords = "auto", .min = 1,
     .max = max_ranks, .on_resume = noted,
     .doc = "Ranks of a tensor group; auto: as in the fastest layout that fits."},
    {.path = "parallel.tensor.mode", .type = Type::keyword, .fallback = "1d", .keywords = "1d 2d 2.5d 3d",
     .on_resume = noted,
     .doc = "1d: columns and rows, as in Megatron-LM. 2d: a grid of q x q ranks divides both extents of each weight, "
            "and the batch (SUMMA, as in Optimus). 2.5d: `depth` copies of such a grid. 3d: a cube of q x q x q ranks, "
            "whose q layers divide each weight and its state. train.micro_batch is that of one row of a grid."},
    {.path = "parallel.tensor.depth", .type = Type::integer, .fallback = "1", .min = 1, .max = max_ranks,
     .on_resume = noted,
     .doc = "Copies of the grid in mode 2.5d, each with sequences of its own; degree = depth x q x q."},
    {.path = "parallel.sequence", .type = Type::boolean, .fallback = "false", .keywords = "auto",
     .on_resume = noted,
     .doc = "Splits norms and residual stream by positions inside the tensor group; auto: if the tensor "
            "ranks can divide the positions."},
    {.path = "parallel.context", .shorthand = "degree", .doc = "Ranks that share each sequence."},
    {.path = "parallel.context.degree", .type = Type::integer, .fallback = "1", .keywords = "auto", .min = 1,
     .max = max_ranks, .on_resume = noted,
     .doc = "Ranks of a context group; auto: as in the fastest layout that fits."},
    {.path = "parallel.context.kind", .type = Type::keyword, .fallback = "ulysses", .keywords = "ring ulysses",
     .on_resume = noted,
     .doc = "ulysses: all-to-all exchange of heads and positions, for which the ranks divide the heads. ring: "
            "keys and values are sent around a ring of ranks (Ring Attention); twice the degree divides data.seq."},
    {.path = "parallel.pipeline", .shorthand = "stages", .doc = "Ranks that hold consecutive layers."},
    {.path = "parallel.pipeline.stages", .type = Type::integer, .fallback = "1", .keywords = "auto", .min = 1,
     .max = max_ranks, .on_resume = noted,
     .doc = "Stages; auto: as in the fastest layout that fits, with its chunks if the deck sets neither chunks "
            "nor schedule."},
    {.path = "parallel.pipeline.schedule", .type = Type::keyword, .fallback = "1f1b",
     .keywords = "gpipe 1f1b interleaved zero_bubble zero_bubble_v zero_bubble_v_half pipedream", .on_resume = noted,
     .doc = "Order of forward and backward over micro-batches. zero_bubble_v_half: zero_bubble_v with about half of "
            "its activations. pipedream has no flush between steps: stages keep older "
            "versions of their weights for micro-batches in flight."},
    {.path = "parallel.pipeline.chunks_per_stage", .type = Type::integer, .fallback = "1", .min = 1, .max = 1024,
     .on_resume = noted, .doc = "Chunks of consecutive layers per stage; more than 1 requires interleaved."},
    {.path = "parallel.pipeline.each", .type = Type::list, .fallback = "auto", .keywords = "auto", .on_resume = noted,
     .doc = "Settings of each stage, one entry per stage. auto balances the layers: it minimizes the time "
            "of the slowest stage, including the head's product with the vocabulary. Homes and "
            "recomputation that are auto are then chosen for each stage, within the budget of its ranks."},
    {.path = "parallel.pipeline.each[].layers", .type = Type::integers, .min = 1, .max = 1e6, .on_resume = noted,
     .doc = "Layers of the stage; with several chunks a list, one number per chunk."},
    {.path = "parallel.pipeline.each[].recompute", .shorthand = "kind",
     .doc = "Recomputation on the stage, if it differs from that of the deck; recompute.split then applies "
            "to kind full."},
    {.path = "parallel.pipeline.each[].recompute.kind", .type = Type::keyword, .keywords = "none selective full auto",
     .on_resume = noted, .doc = "As recompute.kind, for the stage."},
    {.path = "parallel.pipeline.each[].recompute.every", .type = Type::integer, .noun = "units", .min = 1,
     .max = 10000, .on_resume = noted, .doc = "As recompute.every, for the stage."},
    {.path = "parallel.pipeline.each[].home",
     .doc = "Home of state on the stage, if it differs from tiers.home."},
    {.path = "parallel.pipeline.each[].home.parameters", .type = Type::home, .keywords = "auto",
     .on_resume = noted, .doc = "As tiers.home.parameters, for the stage."},
    {.path = "parallel.pipeline.each[].home.gradients", .type = Type::home, .keywords = "auto",
     .on_resume = noted, .doc = "As tiers.home.gradients, for the stage."},
    {.path = "parallel.pipeline.each[].home.optimizer", .type = Type::home, .keywords = "auto",
     .on_resume = noted, .doc = "As tiers.home.optimizer, for the stage."},
    {.path = "parallel.pipeline.each[].home.activations", .type = Type::home, .keywords = "auto",
     .on_resume = noted, .doc = "As tiers.home.activations, for the stage."},
    {.path = "parallel.data", .type = Type::integer, .fallback = "auto", .keywords = "auto", .min = 1,
     .max = max_ranks, .on_resume = noted,
     .doc = "Ranks that divide the global batch; auto is the number left by the other degrees."},
    {.path = "parallel.order", .type = Type::keyword_list, .fallback = "[tensor, context, data, pipeline]",
     .keywords = "tensor context data pipeline", .on_resume = noted,
     .doc = "Axes of the mesh, fastest-varying first."},
    {.path = "parallel.threads", .type = Type::integer, .fallback = "auto", .keywords = "auto", .min = 1, .max = 4096,
     .on_resume = noted,
     .doc = "Host threads per rank; auto: OMP_NUM_THREADS if set, else the rank's share of the cores "
            "available to the job."},
    {.path = "parallel.transport", .type = Type::keyword, .fallback = "auto", .keywords = "auto nccl staged",
     .on_resume = noted,
     .doc = "Transport of GPU buffers between ranks. nccl: NCCL, if each rank has its own GPU; sums of "
            "floats are in NCCL's order. staged: copies through host memory, with sums on the host. auto: "
            "nccl if it is available and there are several ranks, else staged."},

    {.path = "sharding", .shorthand = "zero",
     .doc = "Sharding of state over data ranks: a ZeRO stage, or three spans."},
    {.path = "sharding.zero", .type = Type::integer, .keywords = "auto", .min = 0, .max = 3,
     .on_resume = noted,
     .doc = "0: no sharding; 1: optimizer; 2: also gradients; 3: also parameters; auto: the spans of the "
            "fastest layout that fits, except those that the deck names."},
    {.path = "sharding.parameters", .type = Type::integer, .keywords = "all node auto", .min = 1, .max = max_ranks,
     .on_resume = noted, .doc = "Data ranks over which the parameters are sharded; auto: 1, those of a node, or all, as in the "
            "fastest layout that fits."},
    {.path = "sharding.gradients", .type = Type::integer, .keywords = "all node auto", .min = 1, .max = max_ranks,
     .on_resume = noted,
     .doc = "Data ranks over which the gradients are sharded: the span of parameters or that of optimizer; "
            "auto: as for sharding.parameters."},
    {.path = "sharding.optimizer", .type = Type::integer, .keywords = "all node auto", .min = 1, .max = max_ranks,
     .on_resume = noted, .doc = "Data ranks over which master weights and moments are sharded; auto: as for "
            "sharding.parameters."},
    {.path = "sharding.leases", .type = Type::keyword, .fallback = "auto", .keywords = "auto pass step", .on_resume = noted,
     .doc = "Lifetime of gathered parameters. pass: forward or backward of one micro-batch. step: one "
            "gather per step, except for weights in tiles. auto: step in a pipeline whose budgets allow "
            "it, else pass."},
    {.path = "sharding.secondary", .type = Type::integer, .fallback = "none", .keywords = "none node", .min = 2,
     .max = max_ranks, .on_resume = noted,
     .doc = "Data ranks over which a second copy of the parameters is sharded, for leases after the first "
            "(hpZ)."},
    {.path = "sharding.reduce", .type = Type::keyword, .fallback = "auto",
     .keywords = "auto at_end each_microbatch by_span",
     .on_resume = noted, .doc = "Order in which gradients are summed over micro-batches and ranks."},
    {.path = "sharding.sum_group", .type = Type::integer, .fallback = "node", .keywords = "node flat", .min = 1,
     .max = max_ranks, .on_resume = noted,
     .doc = "Sums run in rank order inside groups of this number of data ranks, then over groups."},
};
// clang-format on
static_assert(print_resume_notes(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> parallel_rows() {
    return rows;
}

}  // namespace ziggurat::deck
