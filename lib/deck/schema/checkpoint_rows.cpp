#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "checkpoint", .shorthand = "every", .doc = "Saving the state of training."},
    {.path = "checkpoint.every", .type = Type::interval, .fallback = "30min", .keywords = "auto none",
     .on_resume = noted,
     .doc = "When to save, in addition to saves at the end and on a stop request. With auto, every 30min, "
            "so that a shorter run saves only at its end; with none, never."},
    {.path = "checkpoint.keep", .shorthand = "last", .doc = "Checkpoints that stay on disk."},
    {.path = "checkpoint.keep.last", .type = Type::integer, .fallback = "2", .min = 1, .max = 1e6,
     .on_resume = noted, .doc = "Number of newest checkpoints to keep."},
    {.path = "checkpoint.keep.milestones", .type = Type::integer, .fallback = "none", .keywords = "none",
     .noun = "steps", .min = 1, .max = max_count, .on_resume = noted,
     .doc = "Checkpoints at steps that are multiples of this are never removed."},
    {.path = "checkpoint.keep.best", .type = Type::integer, .fallback = "none", .keywords = "none", .min = 1, .max = 1e6,
     .on_resume = noted,
     .doc = "Number of checkpoints with the lowest validation losses to keep. A validation with such a "
            "loss saves a checkpoint of its step."},
    {.path = "checkpoint.async", .type = Type::boolean, .fallback = "true",
     .on_resume = noted,
     .doc = "Training continues while files are written from a copy of the state in host memory."},

    {.path = "logging", .shorthand = "every", .doc = "Reporting."},
    {.path = "logging.every", .type = Type::interval, .fallback = "10 steps", .on_resume = noted,
     .doc = "When to print a step line."},
    {.path = "logging.tensorboard", .type = Type::boolean, .fallback = "false", .on_resume = noted,
     .doc = "Also writes TensorBoard curves, in the folder `tensorboard` of the run."},
    {.path = "logging.norms", .type = Type::integer, .fallback = "0", .noun = "steps", .min = 0, .max = max_count,
     .on_resume = noted,
     .doc = "Reports the norms of gradient, weights and update of each unit (embedding, layers, head) at steps that are "
            "multiples of this; 0: never. Such a step waits for its updates."},

    {.path = "debug", .doc = "For tests of the program itself."},
    {.path = "debug.throttle", .keywords = "none",
     .doc = "Limits the rates between tiers and tensor ranks and the speed of decoder layers, per rank, so "
            "that this machine has the ratios of another."},
    {.path = "debug.throttle.nvme_read", .type = Type::rate, .fallback = "none", .keywords = "none",
     .on_resume = noted, .doc = "From NVMe to the host."},
    {.path = "debug.throttle.nvme_write", .type = Type::rate, .fallback = "none", .keywords = "none",
     .on_resume = noted, .doc = "From the host to NVMe."},
    {.path = "debug.throttle.host_to_device", .type = Type::rate, .fallback = "none", .keywords = "none",
     .on_resume = noted, .doc = "From the host to the device."},
    {.path = "debug.throttle.device_to_host", .type = Type::rate, .fallback = "none", .keywords = "none",
     .on_resume = noted, .doc = "From the device to the host."},
    {.path = "debug.throttle.compute", .type = Type::duration, .fallback = "none", .keywords = "none", .max = 60,
     .on_resume = noted,
     .doc = "A decoder layer's forward lasts at least this long and its backward twice as long; no core is "
            "used meanwhile."},
    {.path = "debug.throttle.tensor", .type = Type::rate, .fallback = "none", .keywords = "none",
     .on_resume = noted, .doc = "Bytes that a rank receives in collectives on the tensor axis."},
    {.path = "debug.nodes", .type = Type::integer, .fallback = "none", .keywords = "none auto", .min = 1, .max = max_ranks,
     .on_resume = noted,
     .doc = "Splits the ranks of one machine into this number of emulated nodes: for the keyword `node`, "
            "for collectives and for ring attention."},
};
// clang-format on
static_assert(print_resume_notes(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> checkpoint_rows() {
    return rows;
}

}  // namespace ziggurat::deck
