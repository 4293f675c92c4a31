#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "overlap", .doc = "What happens at the same time."},
    {.path = "overlap.prefetch", .type = Type::integer, .fallback = "auto", .words = "auto", .noun = "segments",
     .min = 0, .max = 1024,
     .on_resume = noted,
     .doc = "Segments fetched and gathered ahead of their use; auto: the least of 2 to 4 that no other of 1 to 4 beats "
            "by the rates of the machine file, measured at the start where it has none, of those that the budgets "
            "hold; 1 where that is better or they hold no more; 0 where they hold none. With all state at home on the "
            "device, 1."},
    {.path = "overlap.optimizer_prefetch", .type = Type::integer, .fallback = "auto", .words = "auto",
     .noun = "passes and updates", .min = 0, .max = 4096,
     .on_resume = noted,
     .doc = "Passes of units and updates of chunks by which optimizer states on NVMe are read ahead of their own "
            "update, so that the disk reads them while backward computes. Never less than twice "
            "overlap.prefetch; each holds a chunk's states on the host. auto: the least of 2, 4, 8 and 16 times "
            "overlap.prefetch that no other beats by the same rates, of those that the budgets hold."},
    {.path = "overlap.bucket", .type = Type::integer, .fallback = "auto", .words = "auto", .noun = "elements",
     .min = 0, .max = 0x1p40, .on_resume = noted,
     .doc = "Gradients sent in one collective, in whole units; 0 sends each unit alone."},
    {.path = "overlap.optimizer_with_backward", .type = Type::boolean, .fallback = "false", .built = Built::no,
     .on_resume = noted, .doc = "Updates a chunk as soon as its gradient is complete."},
    {.path = "overlap.delayed_update", .shorthand = "enabled",
     .doc = "Computing on weights that are one step old."},
    {.path = "overlap.delayed_update.enabled", .type = Type::boolean, .fallback = "false", .built = Built::no,
     .on_resume = warned, .from_here = "updates are applied at another step", .doc = "On or off."},
    {.path = "overlap.delayed_update.after", .type = Type::training_length, .fallback = "40 steps", .built = Built::no,
     .on_resume = warned, .from_here = "updates are applied at another step", .doc = "When it begins."},
    {.path = "overlap.tensor", .type = Type::word, .fallback = "off", .words = "off ring", .built = Built::no,
     .on_resume = noted, .doc = "Tensor-parallel collectives in pieces, beside the products."},

    {.path = "recompute", .shorthand = "kind", .doc = "Trading time for activation memory."},
    {.path = "recompute.kind", .type = Type::word, .fallback = "none", .words = "none selective full auto",
     .on_resume = noted,
     .doc = "selective: attention core and pointwise phases. full: all but the inputs of units. auto: the least with which "
            "the budgets hold all, and no activations leave the device that might; in a pipeline, of each stage."},
    {.path = "recompute.every", .type = Type::integer, .fallback = "1", .noun = "units", .min = 1, .max = 10000,
     .on_resume = noted, .doc = "Units between two kept inputs."},
    {.path = "recompute.split", .type = Type::boolean, .fallback = "auto", .words = "auto", .on_resume = noted,
     .doc = "What all tensor ranks would keep alike is cut over them and gathered again in backward (P_a). "
            "auto: with kind full and tensor ranks without parallel.sequence."},

    {.path = "compression", .doc = "Smaller messages."},
    {.path = "compression.parameters", .type = Type::word, .fallback = "none", .words = "none int8_blocks",
     .built = Built::no, .on_resume = warned, .from_here = "gathered parameters are rounded otherwise",
     .doc = "int8_blocks: gathers in 8 bits (qwZ)."},
    {.path = "compression.gradients", .type = Type::word, .fallback = "none", .words = "none int4_all_to_all tagc",
     .built = Built::no, .on_resume = warned, .from_here = "gradients on the wire are rounded otherwise",
     .doc = "int4_all_to_all: qgZ. tagc: a homomorphic sketch."},

    {.path = "precision", .shorthand = "compute", .doc = "Number types. Sums are always fp32 inside."},
    {.path = "precision.compute", .type = Type::word, .fallback = "bf16", .words = "fp32 bf16",
     .on_resume = warned, .from_here = "parameters, activations and products are rounded otherwise", .doc = "Parameters, activations and products."},
    {.path = "precision.master", .type = Type::word, .fallback = "fp32", .words = "fp32 bf16",
     .on_resume = warned, .from_here = "the weights that the optimizer updates are rounded otherwise", .doc = "The weights that the optimizer updates."},
    {.path = "precision.gradient", .type = Type::word, .fallback = "fp32", .words = "fp32 bf16",
     .on_resume = warned, .from_here = "gradients that micro-batches add up are rounded otherwise",
     .doc = "The accumulator over micro-batches, in bf16 over 64 of them at most; the gradient of one is fp32."},
    {.path = "precision.reduce", .type = Type::word, .fallback = "fp32", .words = "fp32 bf16",
     .on_resume = warned, .from_here = "gradients that ranks add up are rounded otherwise", .doc = "Gradients on the wire; what is accumulated travels as it is kept."},
};
// clang-format on
static_assert(say_what_resumes_do(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> overlap_rows() {
    return rows;
}

}  // namespace ziggurat::deck
