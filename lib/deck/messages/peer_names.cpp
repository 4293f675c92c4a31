#include "deck/messages/peer_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "deck/messages/nearest.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::string_view by_launcher =
    "ranks are started by `mpirun -n 8`, `srun` or `ziggurat slurm`; data parallelism uses those that other "
    "degrees leave";
constexpr std::string_view of_all_ranks = "of all ranks together";
constexpr std::string_view of_a_rank = "per rank in one pass";
constexpr std::string_view by_itself = "automatic: global_batch / (micro_batch x data parallel ranks)";
constexpr std::string_view of_highest = "relative to the maximum rate";

// clang-format off
constexpr PeerName names[] = {
    // length and batches
    {"train_batch_size", "train.global_batch=1024", true, of_all_ranks},
    {"global_batch_size", "train.global_batch=1024", true, of_all_ranks},
    {"total_batch_size", "train.global_batch=1024", false, of_all_ranks},
    {"batch_size", "train.micro_batch=4", true, "per rank in one pass; train.global_batch is for all ranks"},
    {"micro_batch_size", "train.micro_batch=4", true, of_a_rank},
    {"local_batch_size", "train.micro_batch=4", true, of_a_rank},
    {"train_micro_batch_size_per_gpu", "train.micro_batch=4", true, of_a_rank},
    {"per_device_train_batch_size", "train.micro_batch=4", true, of_a_rank},
    {"gradient_accumulation_steps", "train.global_batch=1024", false, by_itself},
    {"max_steps", "train.steps=10k", true},
    {"max_iters", "train.steps=10k", true},
    {"train_iters", "train.steps=10k", true},
    {"num_iterations", "train.steps=10k", true},
    {"total_num_steps", "train.steps=10k", true},
    {"train_samples", "train.tokens=8192M", false, "samples times data.seq"},
    {"num_train_epochs", "train.steps=10k", false, "`ziggurat check` prints the number of epochs"},
    {"epochs", "train.steps=10k", false, "`ziggurat check` prints the number of epochs"},
    {"seq_len", "data.seq=4096", true},
    {"seq_length", "data.seq=4096", true},
    {"sequence_length", "data.seq=4096", true},
    {"max_seq_length", "data.seq=4096", true},
    {"max_seq_len", "data.seq=4096", true},
    {"max_length", "data.seq=4096", true},
    {"block_size", "data.seq=4096", true},
    // the update
    {"lr", "optimizer.lr=3.0e-4", true},
    {"learning_rate", "optimizer.lr=3.0e-4", true},
    {"min_lr", "schedule.final_fraction=0.1", false, of_highest},
    {"cos_min_ratio", "schedule.final_fraction=0.1", true},
    {"lr_scheduler_type", "schedule.kind=cosine"},
    {"lr_decay_style", "schedule.kind=cosine", true},
    {"scheduler", "schedule.kind=cosine"},
    {"lr_decay_iters", "train.steps=10k", false,
     "the decay ends with the run; schedule.decay is for wsd only"},
    {"warmup_steps", "schedule.warmup=2000 steps"},
    {"warmup_iters", "schedule.warmup=2000 steps"},
    {"warmup_num_steps", "schedule.warmup=2000 steps"},
    {"lr_warmup_iters", "schedule.warmup=2000 steps"},
    {"warmup_ratio", "schedule.warmup=3%", false, "in percent"},
    {"lr_warmup_fraction", "schedule.warmup=3%", false, "in percent"},
    {"adam_beta1", "optimizer.betas=[0.9, 0.95]"},
    {"adam_beta2", "optimizer.betas=[0.9, 0.95]"},
    {"beta1", "optimizer.betas=[0.9, 0.95]"},
    {"beta2", "optimizer.betas=[0.9, 0.95]"},
    {"betas", "optimizer.betas=[0.9, 0.95]"},
    {"eps", "optimizer.eps=1.0e-8", true},
    {"weight_decay", "optimizer.weight_decay=0.1", true},
    {"adam_epsilon", "optimizer.eps=1.0e-8", true},
    {"adam_eps", "optimizer.eps=1.0e-8", true},
    {"grad_clip", "optimizer.clip_norm=1.0", true},
    {"clip_grad", "optimizer.clip_norm=1.0", true},
    {"max_norm", "optimizer.clip_norm=1.0", true},
    {"max_grad_norm", "optimizer.clip_norm=1.0", true},
    {"gradient_clipping", "optimizer.clip_norm=1.0", true},
    // number types
    {"bf16", "precision.compute=bf16"},
    {"bfloat16", "precision.compute=bf16"},
    {"fp16", "precision.compute=bf16", false, "there is no fp16, and so no loss scale"},
    {"dtype", "precision.compute=bf16"},
    {"torch_dtype", "precision.compute=bf16"},
    {"mixed_precision_param", "precision.compute=bf16"},
    {"grad_accum_dtype", "precision.gradient=fp32", true},
    {"accumulate_allreduce_grads_in_fp32", "precision.gradient=fp32"},
    // the model
    {"num_layers", "model.layers=32", true},
    {"n_layer", "model.layers=32", true},
    {"n_layers", "model.layers=32", true},
    {"num_hidden_layers", "model.layers=32", true},
    {"hidden_size", "model.hidden=4096", true},
    {"n_embd", "model.hidden=4096", true},
    {"dim", "model.hidden=4096", true},
    {"n_head", "model.heads=32", true},
    {"n_heads", "model.heads=32", true},
    {"num_attention_heads", "model.heads=32", true},
    {"n_kv_heads", "model.kv_heads=8", true},
    {"num_query_groups", "model.kv_heads=8", true},
    {"num_key_value_heads", "model.kv_heads=8", true},
    {"intermediate_size", "model.ffn_hidden=14336", true},
    {"ffn_hidden_size", "model.ffn_hidden=14336", true},
    {"vocab_size", "model.vocab=50257", true},
    {"max_position_embeddings", "model.max_seq=8192", true},
    {"tie_word_embeddings", "model.tie_embeddings=false", true},
    {"untie_embeddings_and_output_weights", "model.tie_embeddings=false"},
    {"rms_norm_eps", "model.norm_epsilon=1.0e-5", true},
    {"layer_norm_eps", "model.norm_epsilon=1.0e-5", true},
    {"layer_norm_epsilon", "model.norm_epsilon=1.0e-5", true},
    {"rotary_base", "model.rope_theta=500000", true},
    {"hidden_dropout", "model.dropout=0.1", true},
    {"initializer_range", "model.init_std=0.02", true},
    {"init_method_std", "model.init_std=0.02", true},
    // adapters
    {"r", "train.lora.rank=16", true},
    {"lora_r", "train.lora.rank=16", true},
    {"lora_rank", "train.lora.rank=16", true},
    {"lora_alpha", "train.lora.alpha=32", true},
    {"target_modules", "train.lora.targets=[attention.q, attention.v]"},
    {"lora_target_modules", "train.lora.targets=[attention.q, attention.v]"},
    {"use_peft", "train.lora=16", false, "the rank of the adapters"},
    {"peft_config", "train.lora=16", false, "the rank of the adapters"},
    {"lora_dropout", "train.lora=16", false, "adapters have no dropout"},
    {"use_rslora", "train.lora.alpha=64", false, "the factor is alpha / rank, not alpha / sqrt(rank)"},
    {"packing", "data.reset_at_document=true", false, "documents are always packed; this keeps them apart"},
    {"dataset_text_field", "data.train=[{format: llmc, path: data/train_*.bin}]", false,
     "made by `ziggurat tokenize --field NAME`"},
    {"model_type", "model.init={from: hf, path: folder}", false, "its config.json names the family"},
    // distribution
    {"nodes", "parallel.data=auto", false, by_launcher},
    {"nnodes", "parallel.data=auto", false, by_launcher},
    {"num_gpus", "parallel.data=auto", false, by_launcher},
    {"num_nodes", "parallel.data=auto", false, by_launcher},
    {"nproc_per_node", "parallel.data=auto", false, by_launcher},
    {"ranks", "parallel.data=auto", false, by_launcher},
    {"n", "parallel.data=auto", false, by_launcher},
    {"data_parallel_shard_degree", "sharding.zero=3", false, "as FSDP"},
    {"fsdp", "sharding.zero=3"},
    {"zero_optimization", "sharding.zero=3"},
    {"zero_stage", "sharding.zero=3", true},
    {"stage", "sharding.zero=3", true},
    {"use_distributed_optimizer", "sharding.zero=1"},
    {"zero_hpz_partition_size", "sharding.secondary=8", true},
    {"tensor_model_parallel_size", "parallel.tensor=8", true},
    {"tensor_parallel_degree", "parallel.tensor=8", true},
    {"autotp_size", "parallel.tensor=8", true},
    {"tp", "parallel.tensor=8", true},
    {"pipeline_model_parallel_size", "parallel.pipeline=8", true},
    {"pipeline_parallel_degree", "parallel.pipeline=8", true},
    {"pp", "parallel.pipeline=8", true},
    {"sequence_parallel", "parallel.sequence=true"},
    // placement of state
    {"offload_optimizer", "tiers.home.optimizer=host", false, "or nvme"},
    {"optimizer_cpu_offload", "tiers.home.optimizer=host"},
    {"cpu_offload", "tiers.home.optimizer=host"},
    {"offload_param", "tiers.home.parameters=host", false, "or nvme"},
    {"nvme_path", "tiers.nvme.paths=[/nvme0]"},
    {"pin_memory", "tiers.host.pinned=all"},
    {"aio", "tiers.nvme.block=1MiB", false, "automatic after `ziggurat bench io`"},
    {"sub_group_size", "tiers.chunk=100M"},
    {"reduce_bucket_size", "overlap.bucket=500M", false, "elements"},
    {"allgather_bucket_size", "overlap.bucket=500M", false, "elements"},
    {"ddp_bucket_size", "overlap.bucket=500M", false, "elements"},
    {"stage3_prefetch_bucket_size", "overlap.prefetch=2", false, "in layers, not in elements"},
    {"gradient_checkpointing", "recompute=full"},
    {"activation_checkpointing", "recompute=full"},
    {"activation_checkpoint", "recompute=full"},
    {"recompute_granularity", "recompute=full", true},
    {"partition_activations", "recompute.split=true"},
    {"cpu_checkpointing", "tiers.home.activations=host"},
    // data
    {"dataset", "data.train=[{format: text, path: data/*.txt}]"},
    {"dataset_path", "data.train=[{format: text, path: data/*.txt}]"},
    {"data_path", "data.train=[{format: megatron, path: data/corpus}]"},
    {"input_bin", "data.train=[{format: llmc, path: data/*.bin}]"},
    {"tokenizer_name", "data.tokenizer={kind: hf, path: folder}"},
    {"tokenizer_model", "data.tokenizer={kind: sentencepiece, path: file}"},
    {"tokenizer_path", "data.tokenizer={kind: hf, path: folder}"},
    {"split", "data.held_out=5%", false, "the end of each source"},
    {"reset_attention_mask", "data.reset_at_document=true"},
    // files and behaviour of a run
    {"output_dir", "run.dir=runs/a", true},
    {"out_dir", "run.dir=runs/a", true},
    {"dump_folder", "run.dir=runs/a", true},
    {"resume", "run.resume=auto", false, "the default: a run resumes automatically from its run.dir"},
    {"save", "run.dir=runs/a", true, "resumes if it has a checkpoint"},
    {"load", "run.dir=runs/a", true, "resumes if it has a checkpoint"},
    {"finetune", "model.init={from: checkpoint, path: runs/a}"},
    {"model_name_or_path", "model.init={from: hf, path: folder}"},
    {"resume_from_checkpoint", "run.resume=auto", false, "a run resumes automatically from its run.dir"},
    {"save_steps", "checkpoint.every=1000 steps"},
    {"save_interval", "checkpoint.every=1000 steps"},
    {"save_total_limit", "checkpoint.keep=2", true},
    {"load_best_model_at_end", "checkpoint.keep.best=1", false, "RUN/best then names it"},
    {"save_top_k", "checkpoint.keep.best=1", true},
    {"early_stopping_patience", "train.stop_when.patience=3", true},
    {"early_stopping_threshold", "train.stop_when.min_delta=0.01", true},
    {"async_save", "checkpoint.async=true", true},
    {"eval_steps", "validate.every=1000 steps"},
    {"eval_interval", "validate.every=1000 steps"},
    {"eval_iters", "validate.batches=100", true},
    {"logging_steps", "logging.every=10 steps"},
    {"log_interval", "logging.every=10 steps"},
    {"log_freq", "logging.every=10 steps"},
    {"steps_per_print", "logging.every=10 steps"},
    {"wandb_project", "run.on_event='python3 examples/hooks/wandb_hook.py'", false, "with WANDB_PROJECT; see docs/output.md"},
    {"report_to", "run.on_event='python3 examples/hooks/wandb_hook.py'", false, "or mlflow_hook.py; see docs/output.md"},
    {"tensorboard_dir", "logging.tensorboard=true", false, "in run.dir"},
    {"exit_duration_in_mins", "run.time_limit=230min", false, "under Slurm, `auto` is the end of the job"},
    {"distributed_timeout_minutes", "run.hang_timeout=10min"},
};

/// Values of other programs and the deck's values for them.
///
/// A value may have several translations: a key takes the one that it accepts.
constexpr std::pair<std::string_view, std::string_view> values[] = {
    {"bfloat16", "bf16"}, {"torch.bfloat16", "bf16"}, {"bfloat", "bf16"},
    {"float16", "bf16"}, {"torch.float16", "bf16"}, {"fp16", "bf16"}, {"half", "bf16"},
    {"float32", "fp32"}, {"torch.float32", "fp32"}, {"float", "fp32"}, {"f32", "fp32"}, {"single", "fp32"},
    {"cpu", "host"}, {"ram", "host"}, {"dram", "host"}, {"memory", "host"},
    {"gpu", "cuda"}, {"gpu", "device"}, {"cuda", "device"}, {"hbm", "device"}, {"vram", "device"},
    {"disk", "nvme"}, {"ssd", "nvme"},
    // weights, as transformers names them
    {"q_proj", "attention.q"}, {"k_proj", "attention.k"}, {"v_proj", "attention.v"}, {"o_proj", "attention.out"},
    {"gate_proj", "mlp.gate"}, {"up_proj", "mlp.up"}, {"down_proj", "mlp.down"},
    {"c_attn", "attention.[qkv]"}, {"c_fc", "mlp.up"}, {"query_key_value", "attention.[qkv]"},
    {"dense_h_to_4h", "mlp.up"}, {"dense_4h_to_h", "mlp.down"}, {"dense", "attention.out"},
    {"all-linear", "*"},
};
// clang-format on

}  // namespace

std::vector<std::string_view> find_peer_values(std::string_view keyword) {
    const auto name = in_small_letters(keyword);
    std::vector<std::string_view> found;
    for (const auto& [theirs, ours] : values) {
        if (theirs == name) {
            found.push_back(ours);
        }
    }
    return found;
}

std::span<const PeerName> peer_names() {
    return names;
}

std::string describe(const PeerName& peer) {
    const auto key = peer.ours.substr(0, peer.ours.find('='));
    return fmt::format("Here that is {}, as in {}{}.", key, peer.ours,
                       peer.note.empty() ? "" : fmt::format(" ({})", peer.note));
}

const PeerName* find_peer_name(std::string_view keyword) {
    keyword.remove_prefix(std::min(keyword.find_first_not_of('-'), keyword.size()));
    auto name = in_small_letters(keyword);
    std::ranges::replace(name, '-', '_');
    const auto* at = std::ranges::find(names, name, &PeerName::name);
    return at == std::end(names) ? nullptr : at;
}

}  // namespace ziggurat::deck
