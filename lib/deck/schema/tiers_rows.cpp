#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "tiers", .doc = "Memory: how much of each kind, and what lives where."},
    {.path = "tiers.device", .shorthand = "budget", .doc = "Device memory."},
    {.path = "tiers.device.kind", .type = Type::word, .fallback = "auto", .words = "auto cuda host",
     .on_resume = noted,
     .doc = "What computes and whose memory it is. cuda: GPUs. host: the host's cores, and one half of its memory. auto: "
            "GPUs where the machine has them."},
    {.path = "tiers.device.budget", .type = Type::size_or_share, .fallback = "94%",
     .on_resume = noted,
     .doc = "Ceiling for each rank. A share is of its device, without GPUs of its part of one half of the "
            "node's memory."},
    {.path = "tiers.host", .shorthand = "budget", .doc = "Host memory."},
    {.path = "tiers.host.budget", .type = Type::size_or_share, .fallback = "80%",
     .on_resume = noted,
     .doc = "Ceiling for each node, all its ranks together. A share is of its memory, without GPUs of the "
            "other half of it."},
    {.path = "tiers.host.pinned", .type = Type::size_or_share, .fallback = "auto", .words = "auto none all",
     .on_resume = noted,
     .doc = "How much host memory that GPUs copy is page-locked at most, on each node; a share is of the node's memory. "
            "Copies of the rest go by way of a small buffer that is, which takes longer, and so do those of what the "
            "system refuses, which is said. auto: all where GPUs compute, else none."},
    {.path = "tiers.nvme", .shorthand = "paths", .doc = "Files on fast disks."},
    {.path = "tiers.nvme.paths", .type = Type::texts, .fallback = "[]",
     .on_resume = noted,
     .doc = "Folders, one for each disk of a node; each rank takes ${env:NAME} in them from its own environment.",
     .is_name_or_place = true},
    {.path = "tiers.nvme.map", .type = Type::word, .fallback = "stripe", .words = "stripe near",
     .on_resume = noted, .doc = "stripe: every rank uses all paths. near: the path of its own socket."},
    {.path = "tiers.nvme.budget", .type = Type::size_or_share, .fallback = "90%",
     .on_resume = noted, .doc = "Ceiling for each node, all paths together."},
    {.path = "tiers.nvme.queue_depth", .type = Type::integer, .fallback = "auto", .words = "auto", .min = 1,
     .max = 1024, .on_resume = noted,
     .doc = "Transfers in flight for each rank; auto is what `ziggurat bench io` found best, or 32."},
    {.path = "tiers.nvme.block", .type = Type::size, .fallback = "auto", .words = "auto", .min = 4096,
     .max = 1 << 30, .on_resume = noted,
     .doc = "Bytes of one transfer; auto is what `ziggurat bench io` found best, or 1MiB."},
    {.path = "tiers.nvme.verify", .type = Type::boolean, .fallback = "true",
     .on_resume = noted, .doc = "Checks what is read against a checksum of what was written."},
    {.path = "tiers.nvme.endurance", .type = Type::size, .fallback = "none", .words = "none", .min = 1,
     .max = 0x1p62, .on_resume = noted,
     .doc = "Bytes that each disk stands being written; the account tells for how many days."},
    {.path = "tiers.home",
     .doc = "Where each kind of state lives while nobody uses it. Each takes a tier, shares in whole chunks such as "
            "{device: 5%, host: 55%, nvme: rest}, or auto, which fills the device, then the host, then NVMe to their budgets; "
            "in a pipeline, for each stage."},
    {.path = "tiers.home.parameters", .type = Type::home, .fallback = "device", .words = "auto",
     .on_resume = noted, .doc = "Parameters in the compute type."},
    {.path = "tiers.home.gradients", .type = Type::home, .fallback = "device", .words = "auto",
     .on_resume = noted, .doc = "Accumulated gradients."},
    {.path = "tiers.home.optimizer", .type = Type::home, .fallback = "device", .words = "auto",
     .on_resume = noted, .doc = "Master weights and moments."},
    {.path = "tiers.home.activations", .type = Type::home, .fallback = "device", .words = "auto",
     .on_resume = noted, .doc = "What backward needs of forward."},
    {.path = "tiers.movement", .type = Type::word, .fallback = "static", .words = "static chunks",
     .on_resume = noted, .doc = "static: homes are fixed. chunks: chunks move to where there is room."},
    {.path = "tiers.chunk", .type = Type::integer, .fallback = "auto", .words = "auto", .noun = "elements",
     .min = 256, .max = 0x1p40, .on_resume = noted,
     .doc = "Elements of a rank's own shards that move together; auto: an eighth of them, "
            "512 Ki to 4 Mi. As few as 64 Ki if budgets hold no more; where nothing moves, 4 Mi on the host and 64 Mi on GPUs."},
    {.path = "tiers.tile", .type = Type::list, .fallback = "off", .words = "off auto",
     .on_resume = noted,
     .doc = "Large weights cut into tiles, each gathered, used and released in turn; the first rule that fits "
            "a tensor holds. Forward has the bits of whole weights; the gradient of an input is a sum over "
            "tiles, so training has them only up to rounding. auto: the fewest that fit the device's budget, or up to "
            "twice as many where that leaves room to fetch ahead."},
    {.path = "tiers.tile[].match", .type = Type::text,
     .on_resume = noted, .doc = "Pattern of the tensors, as mlp.up for that of all layers, or a whole name."},
    {.path = "tiers.tile[].in", .type = Type::integer, .fallback = "1", .min = 1, .max = 4096,
     .on_resume = noted, .doc = "Tiles along the inputs; only 1 is built."},
    {.path = "tiers.tile[].out", .type = Type::integer, .fallback = "1", .min = 1, .max = 4096,
     .on_resume = noted,
     .doc = "Tiles along the outputs: at most so many, of a multiple of 16 rows each (1024 of the vocabulary)."},
    {.path = "tiers.operators", .doc = "Which processor computes."},
    {.path = "tiers.operators.embedding", .type = Type::word, .fallback = "device", .words = "device host",
     .built = Built::no, .on_resume = noted,
     .doc = "The lookup and its gradient."},
};
// clang-format on
static_assert(say_what_resumes_do(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> tiers_rows() {
    return rows;
}

}  // namespace ziggurat::deck
