#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "overlap", .doc = "Concurrent transfers and computation."},
    {.path = "overlap.prefetch", .type = Type::integer, .fallback = "auto", .keywords = "auto", .noun = "segments",
     .min = 0, .max = 1024,
     .on_resume = noted,
     .doc = "Segments fetched and gathered ahead of use. auto predicts the time for 1 to 4 segments from "
            "the rates of the machine file, or from rates measured at the start, within the budgets. It "
            "takes the smallest number from 2 to 4 that no other one beats; 1 if that is faster or the "
            "budgets allow no more; 0 if they allow none. If all state is at home on the device, it takes "
            "1."},
    {.path = "overlap.optimizer_prefetch", .type = Type::integer, .fallback = "auto", .keywords = "auto",
     .noun = "passes and updates", .min = 0, .max = 4096,
     .on_resume = noted,
     .doc = "Passes of units and updates of chunks by which optimizer states on NVMe are read before their "
            "own update, so that disk reads overlap with backward. Never less than twice overlap.prefetch; "
            "each holds a chunk's states on the host. auto: the smallest of 2, 4, 8 and 16 times "
            "overlap.prefetch that no other one beats, predicted in the same way within the budgets."},
    {.path = "overlap.bucket", .type = Type::integer, .fallback = "auto", .keywords = "auto", .noun = "elements",
     .min = 0, .max = 0x1p40, .on_resume = noted,
     .doc = "Gradients per collective, in whole units; 0 sends each unit separately."},
    {.path = "overlap.optimizer_with_backward", .type = Type::boolean, .fallback = "false",
     .on_resume = noted,
     .doc = "Updates the chunks of a unit as soon as its gradient is complete, concurrently with backward. The norm "
            "of the step is not known then: optimizer.clip.policy is speculate, previous_norm, per_unit or off. Except "
            "with speculate, a step that is not finite ends the run with exit code 5, because it cannot be "
            "skipped."},
    {.path = "overlap.delayed_update", .shorthand = "enabled",
     .doc = "Computation with weights that lack the update of the last step, so that this update runs concurrently "
            "with forward and backward (ZeRO-Offload's delayed parameter update). Training then differs from "
            "ordinary training, by a staleness of exactly one step."},
    {.path = "overlap.delayed_update.enabled", .type = Type::boolean, .fallback = "false",
     .on_resume = warned, .from_here = "updates are applied at another step",
     .doc = "On or off. On: fp32 parameters get master weights of their own. A run that resumes with another value "
            "first completes the pending update."},
    {.path = "overlap.delayed_update.after", .type = Type::training_length, .fallback = "40 steps",
     .on_resume = warned, .from_here = "updates are applied at another step",
     .doc = "Ordinary training before it begins: the update of the first later step is the first one that is "
            "delayed. Less than train.steps."},
    {.path = "overlap.tensor", .type = Type::keyword, .fallback = "off", .keywords = "off ring auto",
     .on_resume = warned, .from_here = "products of layers may be rounded differently",
     .doc = "Collectives on the tensor axis in pieces of one tensor rank's rows, concurrent with the products before "
            "and after them. off: each collective waits for the whole product. ring: forward gathers and sums, and "
            "backward those that no gradient of a weight hides. auto: ring if the predicted step is at least 1 % "
            "faster."},

    {.path = "recompute", .shorthand = "kind",
     .doc = "Recomputation of activations: less memory, more time."},
    {.path = "recompute.kind", .type = Type::keyword, .fallback = "none", .keywords = "none selective full auto",
     .on_resume = noted,
     .doc = "selective: attention core and pointwise phases. full: everything except the inputs of units. "
            "auto: the minimum with which all state fits the budgets and no activations with home auto "
            "leave the device; if the machine's rates are known, the fastest kind that fits; in a "
            "pipeline, for each stage."},
    {.path = "recompute.every", .type = Type::integer, .fallback = "1", .noun = "units", .min = 1, .max = 10000,
     .on_resume = noted, .doc = "Units between two stored inputs."},
    {.path = "recompute.fates", .type = Type::list, .fallback = "auto", .keywords = "auto none", .on_resume = noted,
     .doc = "Fates of single activations between forward and backward: the first rule that matches an activation "
            "applies; others follow recompute.kind and tiers.home.activations. The activations are the values "
            "that backward of a layer reads, such as mlp.up, and the outputs of layers. Training is "
            "bit-identical; on GPUs, with recomputed activations as with kind selective. auto: if "
            "recompute.kind and tiers.home.activations are auto, the machine's rates are known and the run has "
            "no pipeline, the fastest choice within the budgets, unless one kind and one home are as fast."},
    {.path = "recompute.fates[].match", .type = Type::text, .on_resume = noted,
     .doc = "Pattern of names of activations, such as mlp.up for that value in all layers, or a whole name."},
    {.path = "recompute.fates[].fate", .type = Type::keyword, .keywords = "keep host nvme recompute",
     .on_resume = noted,
     .doc = "keep: stays on the device. host, nvme: swapped out after forward, and fetched again "
            "overlap.prefetch units before backward. recompute: dropped, and computed again from the values that "
            "are saved, at worst from the layer's input."},
    {.path = "recompute.split", .type = Type::boolean, .fallback = "auto", .keywords = "auto", .on_resume = noted,
     .doc = "Shards stored activations that all tensor ranks would replicate, and gathers them in backward "
            "(P_a). auto: true with kind full and tensor ranks without parallel.sequence."},

    {.path = "compression", .doc = "Compression of messages."},
    {.path = "compression.parameters", .type = Type::keyword, .fallback = "none", .keywords = "none int8_blocks",
     .implemented = Implemented::no, .on_resume = warned, .from_here = "gathered parameters are rounded differently",
     .doc = "int8_blocks: gathers in 8 bits (qwZ)."},
    {.path = "compression.gradients", .type = Type::keyword, .fallback = "none", .keywords = "none int4_all_to_all tagc",
     .implemented = Implemented::no, .on_resume = warned, .from_here = "gradients on the wire are rounded differently",
     .doc = "int4_all_to_all: qgZ. tagc: a homomorphic sketch."},

    {.path = "precision", .shorthand = "compute", .doc = "Number types. Sums are always computed in fp32."},
    {.path = "precision.compute", .type = Type::keyword, .fallback = "bf16", .keywords = "fp32 bf16",
     .on_resume = warned,
     .from_here = "parameters, activations and products are rounded differently",
     .doc = "Parameters, activations and products."},
    {.path = "precision.master", .type = Type::keyword, .fallback = "fp32", .keywords = "fp32 bf16",
     .on_resume = warned,
     .from_here = "the weights that the optimizer updates are rounded differently",
     .doc = "The weights that the optimizer updates."},
    {.path = "precision.gradient", .type = Type::keyword, .fallback = "fp32", .keywords = "fp32 bf16",
     .on_resume = warned, .from_here = "gradients summed over micro-batches are rounded differently",
     .doc = "The accumulator over micro-batches, at most 64 of them in bf16; the gradient of one is fp32."},
    {.path = "precision.reduce", .type = Type::keyword, .fallback = "fp32", .keywords = "fp32 bf16",
     .on_resume = warned, .from_here = "gradients summed over ranks are rounded differently",
     .doc = "Gradients on the wire; accumulated gradients are sent in their own type."},
    {.path = "precision.products", .type = Type::keyword, .fallback = "first", .keywords = "first measured fused",
     .on_resume = warned, .from_here = "matrix products may add in another order",
     .doc = "Algorithms of matrix products on GPUs. first: the first of cuBLASLt's list. measured: at the start, the "
            "fastest of the first 8. They add in different orders, so two runs may differ in rounding. A run that "
            "resumes uses those in its products.json. fused: the first, and the gradient of SwiGLU or GEGLU is part "
            "of the product before it, by cuDNN; measured also times this."},
    {.path = "precision.attention_backward", .type = Type::keyword, .fallback = "deterministic",
     .keywords = "deterministic fast", .on_resume = warned,
     .from_here = "gradients of attention may be summed in another order",
     .doc = "Sums of attention's backward pass by cuDNN. deterministic: in one order. fast: in any order, so two runs "
            "may differ in rounding, and a run that resumes too; the workspace is linear in the sequence."},
};
// clang-format on
static_assert(print_resume_notes(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> overlap_rows() {
    return rows;
}

}  // namespace ziggurat::deck
