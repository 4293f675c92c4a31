#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "checkpoint", .shorthand = "every", .doc = "Saving the state of training."},
    {.path = "checkpoint.every", .type = Type::interval, .fallback = "30min", .words = "auto none",
     .on_resume = noted,
     .doc = "When to save, besides at the end and when the run is asked to stop. With auto, every 30min, so that a shorter "
            "run saves at its end alone; with none, nothing is ever saved."},
    {.path = "checkpoint.keep", .shorthand = "last", .doc = "What stays on disk."},
    {.path = "checkpoint.keep.last", .type = Type::integer, .fallback = "2", .min = 1, .max = 1e6,
     .on_resume = noted, .doc = "The newest so many."},
    {.path = "checkpoint.keep.milestones", .type = Type::integer, .fallback = "none", .words = "none",
     .noun = "steps", .min = 1, .max = most_count, .on_resume = noted,
     .doc = "Those of steps that are multiples of this stay for ever."},
    {.path = "checkpoint.keep.best", .type = Type::integer, .fallback = "none", .words = "none", .min = 1, .max = 1e6,
     .on_resume = noted,
     .doc = "So many with the lowest validation losses stay. A validation with such a loss saves a checkpoint of its step."},
    {.path = "checkpoint.async", .type = Type::boolean, .fallback = "true",
     .on_resume = noted, .doc = "Training goes on while files are written, from a copy of the state in host memory."},

    {.path = "logging", .shorthand = "every", .doc = "What is reported."},
    {.path = "logging.every", .type = Type::interval, .fallback = "10 steps", .on_resume = noted,
     .doc = "When to print a step line."},
    {.path = "logging.tensorboard", .type = Type::boolean, .fallback = "false", .on_resume = noted,
     .doc = "Curves for TensorBoard too, in the folder `tensorboard` of the run's."},

    {.path = "debug", .doc = "For tests of the program itself."},
    {.path = "debug.throttle", .words = "none",
     .doc = "Slows ways between tiers and decoder layers down, each rank's own, so that this machine has the ratios of another."},
    {.path = "debug.throttle.nvme_read", .type = Type::rate, .fallback = "none", .words = "none",
     .on_resume = noted, .doc = "From NVMe to the host."},
    {.path = "debug.throttle.nvme_write", .type = Type::rate, .fallback = "none", .words = "none",
     .on_resume = noted, .doc = "From the host to NVMe."},
    {.path = "debug.throttle.host_to_device", .type = Type::rate, .fallback = "none", .words = "none",
     .on_resume = noted, .doc = "From the host to the device."},
    {.path = "debug.throttle.device_to_host", .type = Type::rate, .fallback = "none", .words = "none",
     .on_resume = noted, .doc = "From the device to the host."},
    {.path = "debug.throttle.compute", .type = Type::duration, .fallback = "none", .words = "none", .max = 60,
     .on_resume = noted,
     .doc = "A decoder layer's forward lasts at least that long and its backward twice that; no core is used meanwhile."},
    {.path = "debug.nodes", .type = Type::integer, .fallback = "none", .words = "none auto", .min = 1, .max = most_ranks,
     .on_resume = noted,
     .doc = "Splits the ranks of one machine into so many pretended nodes: for the words `node` and for collectives."},
};
// clang-format on
static_assert(say_what_resumes_do(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> checkpoint_rows() {
    return rows;
}

}  // namespace ziggurat::deck
