#include "app/model/usual_values.hpp"

#include <algorithm>
#include <array>

#include "base/contract.hpp"

namespace ziggurat::app {
namespace {

constexpr const char* conversations =
    "Conversations: messages, prompts with completions, Alpaca or ShareGPT (decks/DATA.md). The tokenizer's\n"
    "  # chat template renders them; another one is `template: FILE`. The loss counts all answers of the\n"
    "  # assistant, up to the token that ends each; for the last answer only, `loss_on: completion`.";

/// Moments and decay of transformers, which TRL, LLaMA-Factory and Axolotl leave as they are.
constexpr UsualValue adam_of_transformers = {
    "betas: [0.9, 0.999]\n  weight_decay: 0",
    "Defaults of transformers, which TRL, LLaMA-Factory and Axolotl use."};

constexpr UsualValue warmup_of_tuning = {
    "10%", "The examples of LLaMA-Factory and Axolotl, and the recipes of Zephyr, warm up for 10 %."};

constexpr UsualValue end_of_tuning = {"0", "The cosine of transformers ends at zero."};

constexpr std::array<UsualValues, 4> all = {{
    {.job = "chat",
     .trained = "all weights, on conversations",
     .records = conversations,
     .epochs = 3,
     .epochs_reason = "the default of transformers and of the examples of LLaMA-Factory",
     .batch = 128,
     .batch_tokens = 0,
     .batch_reason = "Zephyr's recipe has 128 sequences in a batch; small data gets smaller batches",
     .held_out = 0.05,
     .lr = {"2.0e-5",
            "The default of TRL, and the rate of Zephyr; examples of LLaMA-Factory use 1e-5. Larger models\n"
            "  # need lower rates."},
     .adam = adam_of_transformers,
     .warmup = warmup_of_tuning,
     .end = end_of_tuning,
     .train_keys = "",
     .takes_records = true,
     .takes_tokens = false},
    {.job = "lora",
     .trained = "adapters of its linear weights (LoRA)",
     .records = conversations,
     .epochs = 3,
     .epochs_reason = "the default of transformers and of the examples of LLaMA-Factory",
     .batch = 16,
     .batch_tokens = 0,
     .batch_reason = "adapters tolerate large batches less than full weights do (\"LoRA Without Regret\")",
     .held_out = 0.05,
     .lr = {"2.0e-4",
            "Adapters need about ten times the rate of full weights: TRL's documentation and Axolotl's\n"
            "  # examples have 2e-4, those of LLaMA-Factory 1e-4."},
     .adam = adam_of_transformers,
     .warmup = warmup_of_tuning,
     .end = end_of_tuning,
     .train_keys =
         "  # Rank and alpha are TRL's defaults. All linear weights of layers get an adapter, as with\n"
         "  # `lora_target: all`: attention alone learns less.\n"
         "  lora: {rank: 16, alpha: 32, targets: ['attention.*', 'mlp.*']}\n",
     .takes_records = true,
     .takes_tokens = true},
    {.job = "dpo",
     .trained = "all weights, on preferences (DPO)",
     .records =
         "Preferences: a prompt with a chosen and a rejected answer (decks/DATA.md). Both answers of a pair\n"
         "  # are in one sequence.",
     .epochs = 1,
     .epochs_reason = "as in Zephyr's recipe",
     .batch = 64,
     .batch_tokens = 0,
     .batch_reason = "the DPO paper has 64 pairs in a batch; a sequence may hold several pairs",
     .held_out = 0.05,
     .lr = {"5.0e-7",
            "TRL's documentation and Zephyr's recipe: 5e-7, and 5e-6 with adapters. Higher rates move the\n"
            "  # model far from the reference."},
     .adam = adam_of_transformers,
     .warmup = warmup_of_tuning,
     .end = end_of_tuning,
     .train_keys =
         "  # beta is the default of TRL and LLaMA-Factory. The reference is the imported model, which "
         "should\n"
         "  # already answer: tune it on conversations first. To train adapters instead of all weights, add\n"
         "  # `lora: {rank: 16, alpha: 32, targets: ['attention.*', 'mlp.*']}`, `reference: adapters_off` "
         "and\n"
         "  # optimizer.lr 5.0e-6.\n"
         "  objective: {kind: dpo, beta: 0.1, reference: start}\n",
     .takes_records = true,
     .takes_tokens = false},
    {.job = "pretrain",
     .trained = "all weights, on text",
     .records = "",
     .epochs = 1,
     .epochs_reason = "repeated text teaches less",
     .batch = 0,
     .batch_tokens = 524'288,
     .batch_reason =
         "GPT-3's smallest model has 0.5 million tokens in a batch; small data gets smaller batches",
     .held_out = 0.01,
     .lr = {"3.0e-4",
            "The rate of Touvron et al. (2023) for 7B and 13B. For a short continuation that should forget\n"
            "  # little, use 1e-5 to 5e-5."},
     .adam = {"betas: [0.9, 0.95]\n  weight_decay: 0.1", "As in GPT-3, and in Touvron et al. (2023)."},
     .warmup = {"", "Touvron et al. (2023) warm up for 2000 steps; shorter runs for 3 %."},
     .end = {"0.1", "The cosine of Touvron et al. (2023) ends at a tenth of the maximum."},
     .train_keys = "",
     .takes_records = false,
     .takes_tokens = true},
}};

}  // namespace

const UsualValues& usual_values_of(std::string_view job) {
    const auto* found = std::ranges::find(all, job, &UsualValues::job);
    ZG_EXPECTS(found != all.end());
    return *found;
}

}  // namespace ziggurat::app
