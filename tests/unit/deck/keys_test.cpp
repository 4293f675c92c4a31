/// Each key of the schema has an effect: another value of it gives another run.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "deck/load.hpp"
#include "deck/schema/schema.hpp"

namespace ziggurat::deck {
namespace {

using Overrides = std::vector<std::string>;

/// Two decks that differ in one key, as overrides of the same deck.
struct Case {
    Overrides before;
    Overrides after;
    int ranks = 4;  ///< 0: the minimum that the deck's degrees allow
};

constexpr const char* deck =
    "deck_version: 1\n"
    "model: {family: gpt_neox, layers: 2, hidden: 32, heads: 2}\n"
    "data: {seq: 16, train: [{format: text, path: text.txt}]}\n"
    "train: {steps: 100, global_batch: 24, micro_batch: 2}\n";

/// Returns a case of `key` unset, then set.
Case set_to(const std::string& key, const std::string& value, const Overrides& others = {}) {
    Case made{others, others};
    made.after.push_back(key + "=" + value);
    return made;
}

/// Returns a case of `key` with one value, then with another.
Case changed(const std::string& key,
             const std::string& value,
             const std::string& other,
             const Overrides& others = {}) {
    Case made{others, others};
    made.before.push_back(key + "=" + value);
    made.after.push_back(key + "=" + other);
    return made;
}

/// Returns a case in which `keywords` change one of a pipeline's two stages.
Case of_stage(const std::string& keywords) {
    return changed("parallel.pipeline.each", "[{layers: 1}, {layers: 1}]",
                   "[{layers: 1, " + keywords + "}, {layers: 1}]", {"parallel.pipeline.stages=2"});
}

/// Returns the cases. They avoid errors of rules, but not warnings.
std::map<std::string, Case> cases() {
    const Overrides numbers{"data.tokenizer.kind=none", "model.vocab=300",
                            "data.train=[{format: llmc, path: tokens.bin}]"};
    const Overrides conversations{"data.tokenizer.kind=none", "model.vocab=300",
                                  "data.train=[{format: chat, path: a.samples}]"};
    const Overrides on_nvme{"tiers.nvme.paths=[/tmp]", "tiers.home.optimizer=nvme"};
    const Overrides sampled{"validate.every=10 steps", "data.held_out=10%", "validate.sample.prompt=a"};
    const Overrides validated{"validate.every=10 steps", "data.held_out=10%"};
    const Overrides zero_3{"sharding.zero=3"};
    const Overrides yarn{"model.rope_scaling={kind: yarn, factor: 4, original_max_seq: 64}"};
    const Overrides longrope{
        "model.rope_scaling={kind: longrope, factor: 4, original_max_seq: 64, short_factors: [1, 2], "
        "long_factors: [3, 4]}"};
    auto with = [](Overrides some, const Overrides& more) {
        some.insert(some.end(), more.begin(), more.end());
        return some;
    };
    const auto preferences = with(conversations, {"train.objective.kind=dpo"});
    return {
        {"run.name", set_to("run.name", "other")},
        {"run.dir", set_to("run.dir", "elsewhere")},
        {"run.working_folder", set_to("run.working_folder", "/nowhere")},
        {"run.seed", set_to("run.seed", "1")},
        {"run.resume", set_to("run.resume", "never")},
        {"run.time_limit", set_to("run.time_limit", "2h")},
        {"run.trace", set_to("run.trace", "true")},
        {"run.on_event", set_to("run.on_event", "cat")},
        {"run.hang_timeout", set_to("run.hang_timeout", "5min")},
        {"run.accept_data_change", set_to("run.accept_data_change", "true")},
        {"model.preset", set_to("model.preset", "pythia-70m")},
        {"model.family", set_to("model.family", "llama")},
        {"model.layers", set_to("model.layers", "3")},
        {"model.hidden", set_to("model.hidden", "64")},
        {"model.heads", set_to("model.heads", "4")},
        {"model.kv_heads", set_to("model.kv_heads", "1", {"model.family=llama"})},
        {"model.head_dim", set_to("model.head_dim", "10", {"model.family=llama"})},
        {"model.no_rope_interval", set_to("model.no_rope_interval", "2", {"model.family=smollm3"})},
        {"model.window", changed("model.window", "8", "9", {"model.family=mistral"})},
        {"model.full_attention_interval",
         set_to("model.full_attention_interval", "2", {"model.family=mistral", "model.window=8"})},
        {"model.window_rope_theta",
         set_to("model.window_rope_theta", "500.0", {"model.family=gemma3", "model.window=8"})},
        {"model.bias.qkv", set_to("model.bias", "{qkv: true, output: true}", {"model.family=llama"})},
        {"model.bias.output", set_to("model.bias", "{qkv: true, output: true}", {"model.family=llama"})},
        {"model.bias.mlp", set_to("model.bias.mlp", "true", {"model.family=llama"})},
        {"model.attention_scale", set_to("model.attention_scale", "0.5", {"model.family=granite"})},
        {"model.softcap.attention", set_to("model.softcap.attention", "20", {"model.family=gemma2"})},
        {"model.softcap.logits", set_to("model.softcap.logits", "none", {"model.family=gemma2"})},
        {"model.multiplier.embedding", set_to("model.multiplier.embedding", "12", {"model.family=granite"})},
        {"model.multiplier.residual", set_to("model.multiplier.residual", "0.22", {"model.family=granite"})},
        {"model.multiplier.logits", set_to("model.multiplier.logits", "0.125", {"model.family=granite"})},
        {"model.ffn_hidden", set_to("model.ffn_hidden", "96")},
        {"model.vocab", set_to("model.vocab", "300")},
        {"model.vocab_pad_to", set_to("model.vocab_pad_to", "512")},
        {"model.max_seq", set_to("model.max_seq", "64", {"model.family=gpt2"})},
        {"model.tie_embeddings", set_to("model.tie_embeddings", "true")},
        {"model.norm_epsilon", set_to("model.norm_epsilon", "1e-6")},
        {"model.rope_theta", set_to("model.rope_theta", "500000")},
        {"model.rotary_fraction", set_to("model.rotary_fraction", "0.5")},
        {"model.rope_scaling.kind", set_to("model.rope_scaling.kind", "linear")},
        {"model.rope_scaling.factor",
         changed("model.rope_scaling.factor", "2", "4", {"model.rope_scaling.kind=linear"})},
        {"model.rope_scaling.low_freq_factor",
         changed("model.rope_scaling.low_freq_factor", "2", "1", {"model.rope_scaling.kind=llama3"})},
        {"model.rope_scaling.high_freq_factor",
         changed("model.rope_scaling.high_freq_factor", "8", "4", {"model.rope_scaling.kind=llama3"})},
        {"model.rope_scaling.original_max_seq",
         changed("model.rope_scaling.original_max_seq", "64", "32", {"model.rope_scaling.kind=llama3"})},
        {"model.rope_scaling.beta_fast", set_to("model.rope_scaling.beta_fast", "16", yarn)},
        {"model.rope_scaling.beta_slow", set_to("model.rope_scaling.beta_slow", "2", yarn)},
        {"model.rope_scaling.truncate", set_to("model.rope_scaling.truncate", "false", yarn)},
        {"model.rope_scaling.attention_factor", set_to("model.rope_scaling.attention_factor", "1.5", yarn)},
        {"model.rope_scaling.short_factors",
         set_to("model.rope_scaling.short_factors", "[1, 2.5]", longrope)},
        {"model.rope_scaling.long_factors", set_to("model.rope_scaling.long_factors", "[3, 5]", longrope)},
        {"model.dropout", set_to("model.dropout", "0.1", {"model.family=gpt2"})},
        {"model.embedding_gradient", set_to("model.embedding_gradient", "0.1")},
        {"model.init_std", set_to("model.init_std", "0.01")},
        {"model.init.from", set_to("model.init", "{from: checkpoint, path: runs/a}")},
        {"model.init.path", changed("model.init.path", "runs/a", "runs/b", {"model.init.from=checkpoint"})},
        {"data.tokenizer.kind", changed("data.tokenizer", "none", "{kind: hf, path: a}", with(numbers, {}))},
        {"data.tokenizer.path",
         changed("data.tokenizer.path", "a", "b", with(numbers, {"data.tokenizer.kind=hf"}))},
        {"data.tokenizer.hash",
         set_to("data.tokenizer.hash", "xxh3:1", with(numbers, {"data.tokenizer={kind: hf, path: a}"}))},
        {"data.add_bos",
         changed("data.add_bos", "true", "false", with(numbers, {"data.tokenizer={kind: hf, path: a}"}))},
        {"data.seq", set_to("data.seq", "8")},
        {"data.train", set_to("data.train", "[{format: text, path: a.txt}, {format: text, path: b.txt}]")},
        {"data.train[].format",
         changed("data.train", "[{format: llmc, path: a}]", "[{format: megatron, path: a}]",
                 {"data.tokenizer.kind=none", "model.vocab=300"})},
        {"data.train[].path", set_to("data.train", "[{format: text, path: a.txt}]")},
        {"data.train[].dtype",
         changed("data.train", "[{format: raw, path: a, dtype: uint16}]",
                 "[{format: raw, path: a, dtype: uint32}]", {"data.tokenizer.kind=none", "model.vocab=300"})},
        {"data.train[].weight", set_to("data.train", "[{format: text, path: text.txt, weight: 2}]")},
        {"data.train[].name",
         changed("data.train", "[{format: text, path: a, name: x}]", "[{format: text, path: a, name: y}]")},
        {"data.validation", set_to("data.validation", "[{format: text, path: a.txt}]")},
        {"data.validation[].format",
         changed("data.validation", "[{format: llmc, path: a}]", "[{format: megatron, path: a}]", numbers)},
        {"data.validation[].path",
         changed("data.validation", "[{format: text, path: a}]", "[{format: text, path: b}]")},
        {"data.validation[].dtype", changed("data.validation", "[{format: raw, path: a, dtype: uint16}]",
                                            "[{format: raw, path: a, dtype: uint32}]", numbers)},
        {"data.validation[].name", changed("data.validation", "[{format: text, path: a, name: x}]",
                                           "[{format: text, path: a, name: y}]")},
        {"data.train[].template", changed("data.train", "[{format: chat, path: a, template: x}]",
                                          "[{format: chat, path: a, template: y}]", numbers)},
        {"data.train[].loss_on", changed("data.train", "[{format: chat, path: a}]",
                                         "[{format: chat, path: a, loss_on: all}]", numbers)},
        {"data.validation[].template", changed("data.validation", "[{format: chat, path: a, template: x}]",
                                               "[{format: chat, path: a, template: y}]", conversations)},
        {"data.validation[].loss_on", changed("data.validation", "[{format: chat, path: a}]",
                                              "[{format: chat, path: a, loss_on: all}]", conversations)},
        {"data.packing", set_to("data.packing", "none", conversations)},
        {"data.long_samples", set_to("data.long_samples", "drop", conversations)},
        {"data.held_out", set_to("data.held_out", "10%")},
        {"data.shuffle", set_to("data.shuffle", "false")},
        {"data.reset_at_document",
         set_to("data.reset_at_document", "true", with(numbers, {"data.document_token=5"}))},
        {"data.document_token", set_to("data.document_token", "5", numbers)},
        {"train.steps", set_to("train.steps", "50")},
        {"train.tokens", {{}, {"train={tokens: 76800, global_batch: 24, micro_batch: 2}"}}},
        {"train.global_batch", set_to("train.global_batch", "48")},
        {"train.micro_batch", set_to("train.micro_batch", "1")},
        {"train.objective.kind", set_to("train.objective.kind", "dpo", conversations)},
        {"train.objective.beta", changed("train.objective.beta", "0.1", "0.2", preferences)},
        {"train.objective.label_smoothing", set_to("train.objective.label_smoothing", "0.1", preferences)},
        {"train.objective.reference",
         set_to("train.objective.reference", "adapters_off", with(preferences, {"train.lora.rank=2"}))},
        {"train.average.kind", set_to("train.average.kind", "ema")},
        {"train.average.decay", changed("train.average.decay", "0.9", "0.99", {"train.average.kind=ema"})},
        {"train.average.from", set_to("train.average.from", "3 steps", {"train.average.kind=ema"})},
        {"train.only", set_to("train.only", "['head.*']")},
        {"train.lora.rank", set_to("train.lora.rank", "4")},
        {"train.lora.alpha", set_to("train.lora.alpha", "6", {"train.lora.rank=4"})},
        {"train.lora.targets", set_to("train.lora.targets", "['mlp.*']", {"train.lora.rank=4"})},
        {"train.spikes.action", set_to("train.spikes.action", "skip")},
        {"train.accumulate", set_to("train.accumulate", "by_layer")},
        {"train.spikes.window", set_to("train.spikes.window", "64", {"train.spikes.action=warn"})},
        {"train.spikes.z", set_to("train.spikes.z", "7", {"train.spikes.action=warn"})},
        {"validate.every", set_to("validate.every", "10 steps", {"data.held_out=10%"})},
        {"validate.batches",
         set_to("validate.batches", "2", {"validate.every=10 steps", "data.held_out=10%"})},
        {"validate.weights", set_to("validate.weights", "both",
                                    {"validate.every=10 steps", "data.held_out=10%", "train.average=ema"})},
        {"validate.sample.prompt", changed("validate.sample.prompt", "a", "b", sampled)},
        {"validate.sample.tokens", set_to("validate.sample.tokens", "5", sampled)},
        {"validate.sample.temperature", set_to("validate.sample.temperature", "0.5", sampled)},
        {"validate.sample.chat",
         set_to("validate.sample.chat", "true",
                with(numbers, {"data.tokenizer={kind: hf, path: a}", "validate.every=10 steps",
                               "data.held_out=10%", "validate.sample.prompt=a"}))},
        {"parallel.tensor.degree", set_to("parallel.tensor.degree", "2")},
        {"parallel.tensor.mode",
         changed("parallel.tensor.mode", "1d", "2d", {"parallel.tensor.degree=4", "model.heads=4"})},
        {"parallel.tensor.depth",
         {{"parallel.tensor={degree: 4, mode: 2.5d, depth: 1}"},
          {"parallel.tensor={degree: 8, mode: 2.5d, depth: 2}"},
          0}},
        {"parallel.sequence", set_to("parallel.sequence", "true", {"parallel.tensor.degree=2"})},
        {"parallel.context.degree", set_to("parallel.context.degree", "2")},
        {"parallel.context.kind",
         changed("parallel.context.kind", "ulysses", "ring", {"parallel.context.degree=2"})},
        {"parallel.pipeline.stages", set_to("parallel.pipeline.stages", "2")},
        {"parallel.pipeline.schedule",
         set_to("parallel.pipeline.schedule", "zero_bubble", {"parallel.pipeline.stages=2"})},
        {"parallel.pipeline.chunks_per_stage",
         changed("parallel.pipeline.chunks_per_stage", "2", "3",
                 {"parallel.pipeline.stages=2", "parallel.pipeline.schedule=interleaved", "model.layers=6"})},
        {"parallel.pipeline.each", set_to("parallel.pipeline.each", "[{layers: 1}, {layers: 3}]",
                                          {"parallel.pipeline.stages=2", "model.layers=4"})},
        {"parallel.pipeline.each[].layers",
         changed("parallel.pipeline.each", "[{layers: 1}, {layers: 3}]", "[{layers: 2}, {layers: 2}]",
                 {"parallel.pipeline.stages=2", "model.layers=4"})},
        {"parallel.pipeline.each[].recompute.kind", of_stage("recompute: full")},
        {"parallel.pipeline.each[].recompute.every",
         changed("parallel.pipeline.each", "[{layers: 1, recompute: full}, {layers: 1}]",
                 "[{layers: 1, recompute: {kind: full, every: 2}}, {layers: 1}]",
                 {"parallel.pipeline.stages=2"})},
        {"parallel.pipeline.each[].home.parameters", of_stage("home: {parameters: host}")},
        {"parallel.pipeline.each[].home.gradients", of_stage("home: {gradients: host}")},
        {"parallel.pipeline.each[].home.optimizer", of_stage("home: {optimizer: host}")},
        {"parallel.pipeline.each[].home.activations", of_stage("home: {activations: host}")},
        {"parallel.data", {{}, {"parallel.data=2"}, 0}},
        {"parallel.order", set_to("parallel.order", "[data, tensor, context, pipeline]")},
        {"parallel.threads", set_to("parallel.threads", "3")},
        {"parallel.transport", set_to("parallel.transport", "staged")},
        {"sharding.zero", set_to("sharding.zero", "3")},
        {"sharding.parameters",
         {{"sharding={gradients: all, optimizer: all}"},
          {"sharding={parameters: all, gradients: all, optimizer: all}"}}},
        {"sharding.gradients",
         {{"sharding={optimizer: all}"}, {"sharding={gradients: all, optimizer: all}"}}},
        {"sharding.optimizer", set_to("sharding.optimizer", "all")},
        {"sharding.leases", set_to("sharding.leases", "step", zero_3)},
        {"sharding.secondary", set_to("sharding.secondary", "2", zero_3)},
        {"sharding.reduce", set_to("sharding.reduce", "each_microbatch")},
        {"sharding.sum_group", set_to("sharding.sum_group", "2")},
        {"tiers.device.kind", set_to("tiers.device.kind", "host")},
        {"tiers.device.budget", set_to("tiers.device.budget", "1GiB")},
        {"tiers.host.budget", set_to("tiers.host.budget", "1GiB")},
        {"tiers.host.pinned", set_to("tiers.host.pinned", "1GiB")},
        {"tiers.nvme.paths", set_to("tiers.nvme.paths", "[/tmp]")},
        {"tiers.nvme.map",
         set_to("tiers.nvme.map", "near", with(on_nvme, {"tiers.nvme.paths=[/tmp, /var]"}))},
        {"tiers.nvme.budget", set_to("tiers.nvme.budget", "1GiB", on_nvme)},
        {"tiers.nvme.queue_depth", set_to("tiers.nvme.queue_depth", "7", on_nvme)},
        {"tiers.nvme.block", set_to("tiers.nvme.block", "64KiB", on_nvme)},
        {"tiers.nvme.verify", set_to("tiers.nvme.verify", "false", on_nvme)},
        {"tiers.nvme.endurance", set_to("tiers.nvme.endurance", "1TB", on_nvme)},
        {"tiers.home.parameters", set_to("tiers.home.parameters", "host")},
        {"tiers.home.gradients", set_to("tiers.home.gradients", "host")},
        {"tiers.home.optimizer", set_to("tiers.home.optimizer", "host")},
        {"tiers.home.activations", set_to("tiers.home.activations", "host")},
        {"tiers.home.kv_cache", set_to("tiers.home.kv_cache", "host")},
        {"tiers.chunk", set_to("tiers.chunk", "256", on_nvme)},
        {"tiers.tile", set_to("tiers.tile", "[{match: '*', out: 2}]", zero_3)},
        {"tiers.sequence_tiles", set_to("tiers.sequence_tiles", "4")},
        {"tiers.tile[].match",
         changed("tiers.tile", "[{match: '*', out: 2}]", "[{match: '*.mlp.*', out: 2}]", zero_3)},
        {"tiers.tile[].out",
         changed("tiers.tile", "[{match: '*', out: 2}]", "[{match: '*', out: 4}]", zero_3)},
        {"tiers.reuse", set_to("tiers.reuse", "true",
                               {"precision.compute=bf16", "precision.gradient=bf16", "sharding.zero=3",
                                "train.micro_batch=6"})},
        {"tiers.operators.embedding", set_to("tiers.operators.embedding", "host")},
        {"overlap.optimizer_with_backward",
         set_to("overlap.optimizer_with_backward", "true", {"optimizer.clip.policy=off"})},
        {"overlap.delayed_update.enabled", set_to("overlap.delayed_update.enabled", "true")},
        {"overlap.delayed_update.after",
         set_to("overlap.delayed_update.after", "3 steps", {"overlap.delayed_update.enabled=true"})},
        {"overlap.prefetch", set_to("overlap.prefetch", "3", zero_3)},
        {"overlap.optimizer_prefetch", set_to("overlap.optimizer_prefetch", "9", on_nvme)},
        {"overlap.tensor", set_to("overlap.tensor", "ring", {"parallel.tensor.degree=2"})},
        {"overlap.bucket", set_to("overlap.bucket", "1000000")},
        {"recompute.kind", set_to("recompute.kind", "full")},
        {"recompute.every", set_to("recompute.every", "2", {"recompute.kind=full"})},
        {"recompute.split",
         set_to("recompute.split", "false", {"recompute.kind=full", "parallel.tensor.degree=2"})},
        {"recompute.fates", set_to("recompute.fates", "[{match: attended, fate: recompute}]")},
        {"recompute.fates[].match", changed("recompute.fates", "[{match: attended, fate: recompute}]",
                                            "[{match: qkv, fate: recompute}]")},
        {"recompute.fates[].fate", changed("recompute.fates", "[{match: attended, fate: recompute}]",
                                           "[{match: attended, fate: host}]")},
        {"precision.compute", set_to("precision.compute", "fp32")},
        {"precision.gradient", set_to("precision.gradient", "bf16")},
        {"precision.products", set_to("precision.products", "measured")},
        {"precision.attention_backward", set_to("precision.attention_backward", "fast")},
        {"optimizer.lr", set_to("optimizer.lr", "0.1")},
        {"optimizer.betas", set_to("optimizer.betas", "[0.8, 0.9]")},
        {"optimizer.eps", set_to("optimizer.eps", "1e-6")},
        {"optimizer.weight_decay", set_to("optimizer.weight_decay", "0.2")},
        {"optimizer.no_decay", set_to("optimizer.no_decay", "['head.*']")},
        {"optimizer.clip.norm", set_to("optimizer.clip.norm", "2")},
        {"optimizer.clip.policy", set_to("optimizer.clip.policy", "off")},
        {"schedule.kind", set_to("schedule.kind", "linear")},
        {"schedule.warmup", set_to("schedule.warmup", "10 steps")},
        {"schedule.decay", set_to("schedule.decay", "30 steps", {"schedule.kind=wsd"})},
        {"schedule.when_extended", set_to("schedule.when_extended", "hold")},
        {"schedule.final_fraction", set_to("schedule.final_fraction", "0.2")},
        {"checkpoint.every", set_to("checkpoint.every", "none")},
        {"checkpoint.keep.last", set_to("checkpoint.keep.last", "3")},
        {"checkpoint.keep.milestones", set_to("checkpoint.keep.milestones", "10")},
        {"checkpoint.keep.best", set_to("checkpoint.keep.best", "2", validated)},
        {"train.stop_when.patience", set_to("train.stop_when.patience", "3", validated)},
        {"train.stop_when.min_delta",
         set_to("train.stop_when.min_delta", "0.01",
                {"validate.every=10 steps", "data.held_out=10%", "train.stop_when.patience=2"})},
        {"train.stop_when.validation_loss", set_to("train.stop_when.validation_loss", "1.5", validated)},
        {"checkpoint.async", set_to("checkpoint.async", "false")},
        {"logging.every", set_to("logging.every", "3 steps")},
        {"logging.tensorboard", set_to("logging.tensorboard", "true")},
        {"logging.norms", set_to("logging.norms", "50")},
        {"tiers.movement", changed("tiers.movement", "static", "chunks")},
        {"debug.nodes", set_to("debug.nodes", "2")},
        {"debug.throttle.nvme_read", set_to("debug.throttle.nvme_read", "1MB/s")},
        {"debug.throttle.nvme_write", set_to("debug.throttle.nvme_write", "1MB/s")},
        {"debug.throttle.host_to_device", set_to("debug.throttle.host_to_device", "1MB/s")},
        {"debug.throttle.device_to_host", set_to("debug.throttle.device_to_host", "1MB/s")},
        {"debug.throttle.compute", set_to("debug.throttle.compute", "1s")},
        {"debug.throttle.tensor", set_to("debug.throttle.tensor", "1MB/s", {"parallel.tensor.degree=2"})},
    };
}

/// Keys whose value alone cannot make another run.
const std::set<std::string> read_otherwise{
    // Keys of the deck's structure.
    "deck_version",
    "include",
    "vars",
    // Keys with one value, or whose others are rejected (rules/unsupported.cpp, rules/rules_tiles.cpp).
    "optimizer.kind",
    "precision.master",
    "precision.reduce",
    "tiers.tile[].in",
    // Compared as text with the deck of the weights (checkpoint/catalogue/weight_changes.hpp).
    "model.init.accept_change",
};

LoadedDeck load(const Overrides& overrides, int ranks) {
    LoadOptions options;
    options.ranks = ranks;
    options.has_nccl = true;
    options.threads = 1;
    options.needs_data = false;
    options.machine = spec::MachineSpec{.name = "given",
                                        .has_device = true,
                                        .ranks_per_node = 4,
                                        .cores_per_node = 16,
                                        .device_bytes = std::int64_t{8} << 30,
                                        .host_bytes = std::int64_t{64} << 30};
    options.environment = [](const std::string&) { return std::optional<std::string>{}; };
    return load_text(deck, "deck.yaml", overrides, options);
}

TEST(Keys, AreAllReadIntoTheRun) {
    const auto all = cases();
    for (const Row& row : deck_schema().rows()) {
        if (!has_value(row.type) || row.implemented == Implemented::no || read_otherwise.contains(row.path)) {
            continue;
        }
        const auto found = all.find(row.path);
        if (found == all.end()) {
            ADD_FAILURE() << row.path << " has no case here that shows what it changes";
            continue;
        }
        const auto before = load(found->second.before, found->second.ranks);
        const auto after = load(found->second.after, found->second.ranks);
        EXPECT_TRUE(before.ok()) << row.path << "\n" << before.found.print();
        EXPECT_TRUE(after.ok()) << row.path << "\n" << after.found.print();
        EXPECT_FALSE(before.run == after.run) << row.path << " changes nothing of the run";
    }
}

TEST(Keys, OfTheCasesExist) {
    for (const auto& [key, values] : cases()) {
        EXPECT_NE(deck_schema().find(key), nullptr) << key;
    }
    for (const auto& key : read_otherwise) {
        EXPECT_NE(deck_schema().find(key), nullptr) << key;
    }
}

}  // namespace
}  // namespace ziggurat::deck
