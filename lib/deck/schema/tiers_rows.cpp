#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "tiers", .doc = "Memory budgets, and placement of state."},
    {.path = "tiers.device", .shorthand = "budget", .doc = "Device memory."},
    {.path = "tiers.device.kind", .type = Type::keyword, .fallback = "auto", .keywords = "auto cuda host",
     .on_resume = noted,
     .doc = "Processor for computation, and owner of device memory. cuda: GPUs. host: the host's cores, "
            "and half of its memory. auto: GPUs if the machine has any."},
    {.path = "tiers.device.budget", .type = Type::size_or_share, .fallback = "94%",
     .on_resume = noted,
     .doc = "Limit per rank. A share refers to its device; without GPUs, to its part of half of the node's "
            "memory."},
    {.path = "tiers.host", .shorthand = "budget", .doc = "Host memory."},
    {.path = "tiers.host.budget", .type = Type::size_or_share, .fallback = "80%",
     .on_resume = noted,
     .doc = "Limit per node, for all its ranks. A share refers to the node's memory; without GPUs, to the "
            "other half of it."},
    {.path = "tiers.host.pinned", .type = Type::size_or_share, .fallback = "auto", .keywords = "auto none all",
     .on_resume = noted,
     .doc = "Maximum of page-locked host memory for GPU copies, per node; a share refers to the node's "
            "memory. Copies of other memory go through a small page-locked buffer, which is slower. If the "
            "system refuses to lock memory, a message reports it and copies use that buffer. auto: all "
            "with GPUs, else none."},
    {.path = "tiers.nvme", .shorthand = "paths", .doc = "Files on NVMe disks."},
    {.path = "tiers.nvme.paths", .type = Type::texts, .fallback = "[]",
     .on_resume = noted,
     .doc = "Folders, one per disk of a node; each rank substitutes ${env:NAME} in them from its own "
            "environment.",
     .is_name_or_place = true},
    {.path = "tiers.nvme.map", .type = Type::keyword, .fallback = "stripe", .keywords = "stripe near",
     .on_resume = noted,
     .doc = "stripe: every rank uses all paths. near: each rank uses the path of its own socket."},
    {.path = "tiers.nvme.budget", .type = Type::size_or_share, .fallback = "90%",
     .on_resume = noted, .doc = "Limit per node, for all paths together."},
    {.path = "tiers.nvme.queue_depth", .type = Type::integer, .fallback = "auto", .keywords = "auto", .min = 1,
     .max = 1024, .on_resume = noted,
     .doc = "Transfers in flight per rank; auto is the optimum that `ziggurat bench io` measured, or 32."},
    {.path = "tiers.nvme.block", .type = Type::size, .fallback = "auto", .keywords = "auto", .min = 4096,
     .max = 1 << 30, .on_resume = noted,
     .doc = "Bytes per transfer; auto is the optimum that `ziggurat bench io` measured, or 1MiB."},
    {.path = "tiers.nvme.verify", .type = Type::boolean, .fallback = "true",
     .on_resume = noted, .doc = "Checks data that is read against a checksum of the written data."},
    {.path = "tiers.nvme.endurance", .type = Type::size, .fallback = "none", .keywords = "none", .min = 1,
     .max = 0x1p62, .on_resume = noted,
     .doc = "Write endurance of each disk; the accounting reports for how many days it lasts."},
    {.path = "tiers.home",
     .doc = "Placement of each kind of state while it is not in use. Each kind takes a tier, shares in "
            "whole chunks such as {device: 5%, host: 55%, nvme: rest}, or auto. auto fills the device, "
            "then the host, then NVMe to their budgets; which kinds leave the device is chosen by time if "
            "the machine's rates are known; in a pipeline, for each stage."},
    {.path = "tiers.home.parameters", .type = Type::home, .fallback = "device", .keywords = "auto",
     .on_resume = noted, .doc = "Parameters in the compute type."},
    {.path = "tiers.home.gradients", .type = Type::home, .fallback = "device", .keywords = "auto",
     .on_resume = noted, .doc = "Accumulated gradients."},
    {.path = "tiers.home.optimizer", .type = Type::home, .fallback = "device", .keywords = "auto",
     .on_resume = noted, .doc = "Master weights and moments."},
    {.path = "tiers.home.activations", .type = Type::home, .fallback = "device", .keywords = "auto",
     .on_resume = noted, .doc = "Values of forward that backward needs."},
    {.path = "tiers.home.kv_cache", .type = Type::keyword, .fallback = "device", .keywords = "device host nvme",
     .on_resume = noted,
     .doc = "Keys and values of earlier tokens, which validate.sample, sample and eval --task keep."},
    {.path = "tiers.movement", .type = Type::keyword, .fallback = "static", .keywords = "static chunks",
     .on_resume = noted, .doc = "static: state is fetched for each use. chunks: homes of parameters, gradients and optimizer are "
            "auto, and state stays on the device between uses if memory is free until the next one. Where memory "
            "is short, the state with the farthest next use leaves; changed state then also moves home."},
    {.path = "tiers.chunk", .type = Type::integer, .fallback = "auto", .keywords = "auto", .noun = "elements",
     .min = 256, .max = 0x1p40, .on_resume = noted,
     .doc = "Elements of a rank's own shards that are transferred together; auto: an eighth of them, 512 "
            "Ki to 4 Mi. Down to 64 Ki if budgets allow no more; without transfers, 4 Mi on the host and "
            "64 Mi on GPUs. With tiers.movement: chunks, the power of two with the shortest planned step."},
    {.path = "tiers.tile", .type = Type::list, .fallback = "off", .keywords = "off auto",
     .on_resume = noted,
     .doc = "Large weights split into tiles, each gathered, used and released in turn; the first rule that "
            "matches a tensor applies. Forward is bit-identical to whole weights; the gradient of an input "
            "is a sum over tiles, so training is equal only up to rounding. auto: the minimum that fits "
            "the device's budget, or up to twice that number if this leaves room for prefetching."},
    {.path = "tiers.tile[].match", .type = Type::text,
     .on_resume = noted,
     .doc = "Pattern of tensor names, such as mlp.up for that weight in all layers, or a whole name."},
    {.path = "tiers.tile[].in", .type = Type::integer, .fallback = "1", .min = 1, .max = 4096,
     .on_resume = noted, .doc = "Tiles along the inputs; only 1 is implemented."},
    {.path = "tiers.tile[].out", .type = Type::integer, .fallback = "1", .min = 1, .max = 4096,
     .on_resume = noted,
     .doc = "Maximum number of tiles along the outputs, each with a multiple of 16 rows (1024 for the "
            "vocabulary)."},
    {.path = "tiers.sequence_tiles", .type = Type::integer, .fallback = "1", .min = 1, .max = 65536,
     .on_resume = noted,
     .doc = "MLPs run in this many tiles along the sequence, so that their inner values need memory for one tile. "
            "Values that are saved for backward stay whole: see recompute. The loss always runs in blocks of rows. "
            "Gradients of weights are sums over tiles, so training is equal only up to rounding."},
    {.path = "tiers.reuse", .type = Type::boolean, .fallback = "false", .on_resume = noted,
     .doc = "Reduced gradients take the memory of the parameters that backward no longer needs; the update then "
            "writes the parameters again. A step keeps 14 instead of 16 bytes for each parameter. For bf16 "
            "parameters and gradients of one shard degree, with one micro-batch a step."},
    {.path = "tiers.operators", .doc = "Processors of operators."},
    {.path = "tiers.operators.embedding", .type = Type::keyword, .fallback = "device", .keywords = "device host",
     .on_resume = noted,
     .doc = "host: the lookup, its gradient and the update of the embedding run on the host, where its state is "
            "at home (or on NVMe); only activations cross the link. A tied head still needs a copy of the table "
            "on the device for its products, and moves the gradient that these form."},
};
// clang-format on
static_assert(print_resume_notes(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> tiers_rows() {
    return rows;
}

}  // namespace ziggurat::deck
