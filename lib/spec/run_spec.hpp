/// Specification of a run, as plain data.
///
/// `deck` fills a RunSpec from text and checks it; all other code only reads it. Every `auto` is resolved,
/// and all units are bytes, seconds, elements, sequences or steps. A RunSpec is complete: nothing below `app`
/// reads text or environment variables.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_array.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::spec {

// ---------------------------------------------------------------- run

enum class Resume { automatic, never, must, path };

struct Run {
    std::string name = "run";
    std::string dir = "runs/run";
    std::uint64_t seed = 1234;
    Resume resume = Resume::automatic;
    std::string resume_path;                   ///< set if resume is `path`
    std::optional<double> time_limit_seconds;  ///< from the start of the process
    bool trace = false;
    double hang_timeout_seconds = 600;
    /// Resumes although the training files differ from those of the checkpoint.
    bool accept_data_change = false;

    bool operator==(const Run&) const = default;
};

// ---------------------------------------------------------------- model

enum class RopeScalingKind { none, linear, by_parts, yarn, longrope, dynamic };

/// Scaling of rotary positions for sequences longer than those of pretraining.
struct RopeScaling {
    RopeScalingKind kind = RopeScalingKind::none;
    /// Divisor of the angles. longrope: only attention_factor depends on it. dynamic: only sequences beyond
    /// max_seq depend on it, which no run has; a model that is exported has it.
    double factor = 1;
    // by_parts: angles are divided by the full factor if a period exceeds original_max_seq / low_freq_factor
    // tokens, and not scaled if it is below original_max_seq / high_freq_factor.
    double low_freq_factor = 1;
    double high_freq_factor = 4;
    std::int64_t original_max_seq = 8192;  ///< maximum sequence length of pretraining
    // yarn: pairs of channels that turn more than beta_fast times in original_max_seq tokens are not scaled;
    // the angles of pairs that turn less than beta_slow times are divided by the full factor.
    double beta_fast = 32;
    double beta_slow = 1;
    bool truncate = true;         ///< yarn: the bounds between such pairs are rounded to whole pairs
    double attention_factor = 1;  ///< yarn, longrope: factor of all cosines and sines
    // longrope: divisors of the angles, one for each pair of channels; for sequences of up to
    // original_max_seq tokens, and for longer ones.
    std::vector<double> short_factors = {};
    std::vector<double> long_factors = {};

    bool operator==(const RopeScaling&) const = default;
};

/// Constant factors of a layer's parts; 1: none.
struct Multipliers {
    double embedding = 1;  ///< of the token table's rows, not of the tied head's weight
    double residual = 1;   ///< of both branches of a layer, before they are added to the stream
    double logits = 1;

    bool operator==(const Multipliers&) const = default;
};

/// Soft caps: x becomes cap * tanh(x / cap); 0: none.
struct Softcap {
    double attention = 0;  ///< of attention's scores, after their scale
    double logits = 0;     ///< of logits, after their factor

    bool operator==(const Softcap&) const = default;
};

/// Low-rank adapters (LoRA) of weights, trained instead of them: y = x (W + alpha / rank B A)^T.
///
/// Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, section 4.1
struct Lora {
    std::int64_t rank = 0;             ///< 0: no adapters
    double alpha = 0;                  ///< alpha / rank is the factor of the adapters' output
    std::vector<std::string> targets;  ///< patterns of weights, the same in all layers: attention.q

    bool is_on() const noexcept { return rank > 0; }
    double factor() const noexcept { return alpha / static_cast<double>(rank); }

    bool operator==(const Lora&) const = default;
};

/// Products of a layer that add a bias, for families in which it is a choice.
struct Biases {
    bool qkv = false;
    bool output = false;  ///< the projection after attention
    bool mlp = false;

    bool operator==(const Biases&) const = default;
};

struct Model {
    std::string family;  ///< one of layout::families()
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;  ///< equal to `heads` without grouped queries
    std::int64_t head_dim = 0;  ///< channels of a head
    std::int64_t ffn_hidden = 0;
    std::int64_t vocab = 0;
    std::int64_t vocab_padded = 0;  ///< rows of the embedding; padding rows are zero and never trained
    std::int64_t max_seq = 0;
    bool tie_embeddings = true;
    double norm_epsilon = 1e-5;
    double rope_theta = 10000;   ///< for families with rotary positions
    double rotary_fraction = 1;  ///< share of a head's channels, from the first, that are rotated
    double dropout = 0;          ///< of embedding, attention weights and both branches of a layer
    /// Factor of the token table's gradient from lookups; does not apply to a tied head's part.
    double embedding_gradient = 1;
    double init_std = 0.02;          ///< projections into the residual stream: init_std / sqrt(2 layers)
    std::string init_path = {};      ///< checkpoint or run with the initial weights; empty: random
    bool is_init_published = false;  ///< true if init_path is a folder in the Hugging Face format
    RopeScaling rope_scaling = {};
    Biases bias = {};
    /// Factor of attention's scores; the usual one is 1 / sqrt(head_dim), which 0 stands for too.
    double attention_scale = 0;
    Multipliers multiplier = {};
    Softcap softcap = {};
    std::int64_t window = 0;  ///< number of tokens to which a token attends, with itself; 0: all before it
    /// Layers n, 2n, 3n ... (from 1) have no window; 0: all layers have it.
    std::int64_t full_attention_interval = 0;
    /// Theta of layers with a window, whose positions are not scaled; 0: they rotate as the other layers.
    double window_rope_theta = 0;
    /// Layers n, 2n, 3n ... (from 1) do not rotate queries and keys; 0: all layers do.
    std::int64_t no_rope_interval = 0;
    Lora lora = {};  ///< if on, train.only lists exactly the adapters' tensors

    /// Returns the number of a head's channels that positions rotate, in pairs.
    std::int64_t rotary_channels() const {
        return std::llround(static_cast<double>(head_dim) * rotary_fraction);
    }

    /// Returns 1 / sqrt(head_dim), the usual value of attention_scale.
    double usual_attention_scale() const { return 1 / std::sqrt(static_cast<double>(head_dim)); }

    bool operator==(const Model&) const = default;
};

// ---------------------------------------------------------------- data

/// Format of token files. `own`: no file; a program that calls the library supplies the tokens.
///
/// `chat`: samples of conversations, each with a mask of the tokens that count in the loss.
enum class TokenFormat { text, llmc, megatron, raw, own, chat };

/// Number type of raw token files, which have no header.
enum class RawType { uint16, uint32 };

/// Tokens of a conversation that count in the loss.
enum class LossOn {
    assistant,   ///< all turns of the assistant
    completion,  ///< the last turn of the assistant
    all          ///< all turns
};

/// A weight of a source from a step on.
struct WeightChange {
    std::int64_t step = 0;  ///< number of the first step with this weight, counted from 0
    double weight = 1;

    bool operator==(const WeightChange&) const = default;
};

struct Source {
    TokenFormat format = TokenFormat::text;
    std::string path;
    double weight = 1;                              ///< from the first step on
    std::vector<WeightChange> weight_changes = {};  ///< by step, each > 0
    RawType raw_type = RawType::uint16;             ///< for format raw
    std::string name = {};                          ///< of its losses; unique in its list
    /// For format chat with JSON lines: a file of a template, or the name of one of the tokenizer's; empty:
    /// its default one.
    std::string chat_template = {};
    std::optional<LossOn> loss_on = {};  ///< for format chat; empty: assistant, or as in the sample file

    bool operator==(const Source&) const = default;
};

/// Kind of tokenizer. `none`: token ids without a mapping to text.
enum class TokenizerKind { bytes, none, hf, sentencepiece };

/// Tokenizer settings.
struct Tokenizer {
    TokenizerKind kind = TokenizerKind::bytes;
    std::string path;  ///< for hf and sentencepiece: a file, or the folder of a model that contains it
    std::string hash;  ///< of that file, `xxh3:` and 16 digits; empty: unknown

    bool has_file() const { return kind == TokenizerKind::hf || kind == TokenizerKind::sentencepiece; }
    bool operator==(const Tokenizer&) const = default;
};

/// Begin-of-text token at the beginning of a text: as the tokenizer specifies, always, never.
enum class AddBos { as_tokenizer_says, yes, no };

/// Arrangement of samples of conversations in sequences.
enum class SamplePacking {
    none,     ///< one sample per sequence, then padding
    wrapped,  ///< one stream of samples, divided into sequences at any token
    best_fit  ///< whole samples, best-fit decreasing, then padding
};

/// Minimum number of tokens of a pair of answers.
inline constexpr std::int64_t min_pair_tokens = 4;

/// Treatment of samples that are longer than a sequence, with packing none and best_fit.
enum class LongSamples { cut, drop, refuse };

struct Data {
    Tokenizer tokenizer;
    AddBos add_bos = AddBos::as_tokenizer_says;
    std::int64_t seq = 0;
    std::vector<Source> train;
    std::vector<Source> validation;
    double held_out = 0;               ///< share of the end of each training source kept for validation
    bool shuffle = true;               ///< order of windows is a function of (seed, global sample index)
    bool reset_at_document = false;    ///< attention and positions restart at each document
    std::int64_t document_token = -1;  ///< token that starts (llmc) or ends a document; -1: none
    SamplePacking packing = SamplePacking::best_fit;  ///< of sources of format chat
    LongSamples long_samples = LongSamples::cut;      ///< of sources of format chat
    bool has_pairs = false;  ///< samples are pairs of answers, as Train::objective requires

    bool operator==(const Data&) const = default;
};

// ---------------------------------------------------------------- train

/// Reaction to a step whose loss or gradient norm is far above those of preceding steps.
enum class SpikeAction {
    off,       ///< spikes are not detected
    warn,      ///< a warning is printed
    skip,      ///< the update is not applied
    roll_back  ///< the run returns to the newest checkpoint and skips samples up to and including the spike
};

struct Spikes {
    SpikeAction action = SpikeAction::off;
    std::int64_t window = 128;  ///< number of preceding steps in the statistics
    double z = 6;               ///< threshold in standard deviations above the mean

    bool operator==(const Spikes&) const = default;
};

/// Average of the weights over the steps, a state of its own.
///
/// Exponential: average <- decay * average + (1 - decay) * weights after each update.
struct Average {
    double decay = 0;       ///< 0: no average
    std::int64_t from = 0;  ///< number of updates after which the average begins as a copy of the weights

    bool is_on() const noexcept { return decay > 0; }
    bool operator==(const Average&) const = default;
};

/// Loss that training minimizes.
///
/// Source: Rafailov et al., "Direct Preference Optimization", 2023, equation 7; Azar et al., "A General
///         Theoretical Paradigm to Understand Learning from Human Preferences", 2023, equation 17 (IPO)
enum class ObjectiveKind {
    next_token,  ///< cross-entropy of the next token
    dpo,         ///< -log sigmoid(beta * margin) of pairs of answers
    ipo          ///< (margin - 1 / (2 beta))^2 of pairs of answers, with log-probabilities per token
};

/// Model whose log-probabilities a preference objective compares with those of the trained model.
enum class ReferenceKind {
    start,         ///< the initial weights of the run
    adapters_off,  ///< the initial weights without adapters
    path           ///< the weights of a checkpoint, a run or a Hugging Face model
};

struct Objective {
    ObjectiveKind kind = ObjectiveKind::next_token;
    double beta = 0.1;
    double label_smoothing = 0;  ///< dpo: assumed share of pairs whose answers are swapped
    ReferenceKind reference = ReferenceKind::start;
    std::string reference_path = {};      ///< for path
    bool is_reference_published = false;  ///< true if reference_path is a folder in the Hugging Face format

    /// Returns true if samples are pairs of answers.
    bool has_pairs() const noexcept { return kind != ObjectiveKind::next_token; }
    bool operator==(const Objective&) const = default;
};

/// Early stopping by the validation loss.
struct StopWhen {
    std::int64_t patience = 0;  ///< consecutive validations without improvement that end the run; 0: off
    double min_delta = 0;       ///< minimum decrease of the loss that counts as improvement, nats per token
    std::optional<double> validation_loss = {};  ///< a loss of at most this value ends the run

    bool is_asked() const { return patience > 0 || validation_loss.has_value(); }
    bool operator==(const StopWhen&) const = default;
};

/// Order in which a rank runs the micro-batches of a step.
///
/// The sums of gradients over micro-batches keep their order. A tied table that is summed in place over the
/// step is the exception: its parts from the head and from the lookup are added in another order.
///
/// Source: GreedySnake, 2025 (arXiv 2512.17570): vertical scheduling
enum class AccumulationOrder {
    by_micro_batch,  ///< all units of a micro-batch, then the next micro-batch
    by_layer         ///< all micro-batches of a unit, then the next unit, which reads its parameters one time
};

struct Train {
    /// With `tokens`: number of steps if the batch size stays the same from the first step on.
    std::int64_t steps = 0;
    std::int64_t tokens = 0;         ///< the run ends after this number of tokens; 0: after `steps`
    std::int64_t global_batch = 0;   ///< sequences per optimizer step
    std::int64_t micro_batch = 0;    ///< sequences per rank, forward and backward
    std::int64_t micro_batches = 0;  ///< per step and rank: global_batch / (micro_batch x data degree)
    AccumulationOrder accumulate = AccumulationOrder::by_micro_batch;  ///< by_layer: one stage only
    /// Patterns of trained tensors; empty: all; with model.lora the adapters.
    std::vector<std::string> only;
    Objective objective = {};
    Spikes spikes = {};
    StopWhen stop_when = {};
    Average average = {};

    /// Returns true if the order differs from that by micro-batch; with one micro-batch there is one order.
    bool is_by_layer() const noexcept {
        return accumulate == AccumulationOrder::by_layer && micro_batches > 1;
    }

    bool operator==(const Train&) const = default;
};

struct Sample {
    std::string prompt;
    std::int64_t tokens = 0;
    double temperature = 0.8;

    bool operator==(const Sample&) const = default;
};

struct Interval {
    std::int64_t steps = 0;  ///< 0: not by steps
    std::int64_t tokens = 0;
    double seconds = 0;

    bool operator==(const Interval&) const = default;
};

struct Validate {
    std::optional<Interval> every;
    std::int64_t batches = 0;  ///< validation samples in global batches, evenly spaced; 0: all of them
    std::optional<Sample> sample;

    bool operator==(const Validate&) const = default;
};

// ---------------------------------------------------------------- distribution

/// Axes of ranks. `tensor_row` is the part of the tensor axis along which a grid has rows.
enum class Axis { tensor, context, data, pipeline, tensor_row };
enum class TensorMode { one_d, two_d, two_and_half_d, three_d };
enum class ContextKind { ring, ulysses };
enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zero_bubble, zero_bubble_half, pipedream };

/// Transport of GPU buffers between ranks: through host memory, or NCCL.
enum class Transport { staged, nccl };

struct Parallel {
    int ranks = 1;
    int ranks_per_node = 1;
    /// Ranks that divide the width of values: the tensor degree in mode 1d, the columns of a tensor grid.
    int tensor = 1;
    TensorMode tensor_mode = TensorMode::one_d;
    int tensor_rows = 1;   ///< rows of a tensor grid, each with sequences of its own
    int tensor_depth = 1;  ///< modes 2.5d, 3d: number of copies of the grid, which are a part of `data`
    bool sequence = false;
    int context = 1;
    ContextKind context_kind = ContextKind::ring;
    int stages = 1;
    PipelineSchedule pipeline_schedule = PipelineSchedule::one_f_one_b;
    int chunks_per_stage = 1;
    /// Decoder layers of each virtual stage, in model order.
    ///
    /// Virtual stage v is a chunk of stage v % stages. Empty: layout::stage_layers distributes layers by
    /// cost.
    std::vector<std::int64_t> stage_layers;
    /// Ranks with the same slice of the model: the data degree of the deck times `context` and
    /// `tensor_depth`. Consecutive `context` of them share sequences; state is sharded over all of them.
    int data = 1;
    std::vector<Axis> order = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline};  ///< innermost first
    int threads = 1;  ///< host threads of a rank's compute lane
    Transport transport = Transport::staged;

    /// Returns the number of ranks of a tensor group, without copies of a grid.
    int tensor_ranks() const { return tensor * tensor_rows; }
    /// True if tensor ranks are a grid, which divides both extents of each weight.
    bool has_grid() const { return tensor_rows > 1; }
    /// True if the grid is a layer of a cube, whose layers (the copies) divide each weight among them.
    bool has_cube() const { return has_grid() && tensor_mode == TensorMode::three_d; }
    /// Returns the minimum number of data ranks over which state is sharded: the layers of a cube, or 1.
    int min_span() const { return has_cube() ? tensor_depth : 1; }
    /// Returns the tensor degree of the deck.
    int tensor_degree() const { return tensor_ranks() * tensor_depth; }
    /// Returns the data degree of the deck.
    int data_degree() const { return data / (context * tensor_depth); }
    /// Returns the number of groups of ranks with sequences of their own.
    int sequence_groups() const { return data / context * tensor_rows; }

    bool operator==(const Parallel&) const = default;
};

enum class ReducePlan { at_end, each_microbatch, by_span };

/// Lifetime of gathered parameters: one pass of one micro-batch, or until the end of the step.
enum class LeaseSpan { pass, step };

/// Shard degrees: the number of consecutive data ranks over which each kind of state is sharded.
///
/// 1 <= p <= g <= o <= d, and each divides the next.
struct Sharding {
    int parameters = 1;
    int gradients = 1;
    int optimizer = 1;
    int secondary = 0;  ///< hpZ's secondary shard degree of the parameters; 0: none
    ReducePlan reduce = ReducePlan::at_end;
    int sum_group = 1;        ///< ranks summed together before groups are summed; data degree for `flat`
    bool is_by_span = false;  ///< true if the deck sets shard degrees instead of a ZeRO stage
    LeaseSpan leases = LeaseSpan::pass;

    bool operator==(const Sharding&) const = default;
};

// ---------------------------------------------------------------- placement of state

enum class Tier { device, host, nvme };
template <class T>
using ByTier = EnumArray<Tier, T, 3>;

/// Shares of a state kind over the tiers; they sum to 1.
struct Home {
    double device = 1;
    double host = 0;
    double nvme = 0;

    bool operator==(const Home&) const = default;
};

enum class Movement { fixed, chunks };

/// Products, lookups or both whose weights are split into a grid of tiles.
struct TileRule {
    std::string match;  ///< pattern of tensor names
    int in = 1;         ///< tiles along the inputs
    int out = 1;        ///< tiles along the outputs

    bool operator==(const TileRule&) const = default;
};

/// Settings that a deck leaves to the planner; plan::choose_homes sets them from the budgets.
struct AutoHomes {
    bool parameters = false;
    bool gradients = false;
    bool optimizer = false;
    bool activations = false;
    bool reduce = false;    ///< the sum plan follows the home of gradients
    bool tiles = false;     ///< the planner chooses the minimum number
    bool prefetch = false;  ///< with open tiles: may become 0 to save memory

    bool any() const { return parameters || gradients || optimizer || activations; }
    bool operator==(const AutoHomes&) const = default;
};

/// Budget of a tier without a limit.
constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// Processor of computations, and owner of the device tier's memory.
enum class DeviceKind { host, cuda };

struct Tiers {
    DeviceKind device = DeviceKind::host;
    std::int64_t device_budget_bytes = unlimited;  ///< per rank
    std::int64_t host_budget_bytes = unlimited;    ///< per node
    /// Part of the host tier that may be pinned, per node; has no use without GPUs.
    std::int64_t pinned_bytes = unlimited;
    std::int64_t nvme_budget_bytes = unlimited;  ///< per node
    std::vector<std::string> nvme_paths;
    bool nvme_near = false;
    std::int64_t nvme_block_bytes = 1 << 20;
    int nvme_queue_depth = 32;
    bool nvme_verify = false;
    std::int64_t endurance_bytes = 0;  ///< write endurance of each path; 0: unknown
    Home parameters, gradients, optimizer, activations;
    Tier kv_cache = Tier::device;  ///< home of the KV cache, which samples and inference have
    AutoHomes open;                ///< must be closed before a program is built
    Movement movement = Movement::fixed;
    std::int64_t chunk_elements = 0;
    std::vector<TileRule> tiles;  ///< the first rule that matches a tensor applies; empty: no tiles
    /// Tiles along the sequence in which MLPs run; 1: whole micro-batches (sequence_tiles_pass).
    int sequence_tiles = 1;
    /// Reduced gradients use the memory of parameters that backward no longer needs.
    bool reuse = false;
    /// The embedding's lookup and its gradient run on the host; only activations cross the link.
    bool embedding_on_host = false;

    bool operator==(const Tiers&) const = default;
};

struct Overlap {
    int prefetch = 1;  ///< segments gathered ahead of use
    /// Passes and updates by which optimizer states on NVMe are prefetched; at least twice `prefetch`.
    int optimizer_prefetch = 0;
    std::int64_t bucket_elements = 0;  ///< gradients per collective; whole units are never split
    /// Updates the chunks of a unit as soon as its gradient is complete, concurrently with backward.
    bool optimizer_with_backward = false;
    bool delayed_update = false;
    std::int64_t delayed_update_after = 0;
    /// Collectives on the tensor axis are in pieces of one rank's rows each, concurrent with the products.
    bool tensor_pieces = false;

    bool operator==(const Overlap&) const = default;
};

enum class RecomputeKind { none, selective, full };

/// Place of an activation between forward and backward.
enum class ActivationFate {
    keep,       ///< stays in the device tier
    host,       ///< is swapped to the host
    nvme,       ///< is swapped to NVMe
    recompute,  ///< is dropped, and backward computes it again
};

/// Fate of the activations whose names `unit.value` match a pattern.
struct FateRule {
    std::string match;
    ActivationFate fate = ActivationFate::keep;

    bool operator==(const FateRule&) const = default;
};

struct Recompute {
    RecomputeKind kind = RecomputeKind::none;
    int every = 1;  ///< units between checkpoints
    /// Shards checkpointed activations that are replicated over tensor ranks; backward gathers them.
    bool split = false;
    /// `kind` is left to the planner, and `split` follows it: plan::choose_homes fills them in.
    bool is_auto = false;
    /// The first rule that matches an activation applies; others follow `kind` and the home of activations.
    std::vector<FateRule> fates = {};

    bool operator==(const Recompute&) const = default;
};

/// Recomputation and homes of one pipeline stage.
struct StageState {
    Recompute recompute;
    Home parameters, gradients, optimizer, activations;
    AutoHomes open;  ///< for the four homes

    bool operator==(const StageState&) const = default;
};

// ---------------------------------------------------------------- numerics

/// Choice among the algorithms of a GPU's library for matrix products.
enum class ProductChoice {
    first,     ///< the first of the library's list
    measured,  ///< the fastest, measured at the start of the run
};

/// Order of sums in attention's backward pass, where cuDNN computes it.
enum class AttentionBackward {
    deterministic,  ///< one order: two runs have the same bits
    fast,           ///< the order may change from call to call
};

struct Precision {
    DType compute = DType::f32;
    DType master = DType::f32;
    DType gradient = DType::f32;
    DType reduce = DType::f32;
    ProductChoice products = ProductChoice::first;
    AttentionBackward attention_backward = AttentionBackward::deterministic;

    bool operator==(const Precision&) const = default;
};

/// Norm by which gradients are clipped.
enum class ClipPolicy {
    off,
    global,         ///< of the whole gradient of the step
    previous_norm,  ///< of the whole gradient of the last step with an update; the first step is not clipped
    per_unit,       ///< of the unit's gradient of the step: each unit is clipped by its own norm
};

struct Optimizer {
    double lr = 3e-4;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double weight_decay = 0.1;
    std::vector<std::string> no_decay;  ///< patterns of tensors without decay; 1-d tensors never have it
    ClipPolicy clip = ClipPolicy::global;
    double clip_norm = 1.0;

    bool operator==(const Optimizer&) const = default;
};

enum class ScheduleKind { constant, linear, cosine, warmup_stable_decay };

/// Effect on the schedule if a run resumes with a different end.
enum class WhenExtended {
    rescale,  ///< the schedule ends with the run
    restart,  ///< a new schedule covers the steps up to the end of the run
    hold      ///< the schedule ends as originally planned; its last learning rate is kept
};

struct LearningRate {
    ScheduleKind kind = ScheduleKind::cosine;
    std::int64_t warmup_steps = 0;
    bool is_warmup_in_tokens = false;  ///< the deck gives tokens, or a share of a run measured in tokens
    WhenExtended when_extended = WhenExtended::rescale;
    std::int64_t decay_steps = 0;  ///< warmup_stable_decay: length of the decay phase
    double final_fraction = 0.1;

    bool operator==(const LearningRate&) const = default;
};

/// Settings of checkpoints.
struct Checkpoint {
    /// Interval of periodic saves. Any interval also enables the save at the end and on a stop request.
    /// Without a value (`checkpoint.every: none`) the run never saves, not even at the end, and cannot be
    /// resumed.
    std::optional<Interval> every;
    std::int64_t keep_last = 2;         ///< number of newest complete checkpoints to keep
    std::int64_t keep_every_steps = 0;  ///< checkpoints at multiples of this are always kept; 0: none
    std::int64_t keep_best = 0;         ///< number of checkpoints to keep for lowest validation losses
    bool is_async = true;  ///< training continues while files are written from a copy of the state

    bool operator==(const Checkpoint&) const = default;
};

struct Logging {
    Interval every{.steps = 10};
    bool tensorboard = false;

    bool operator==(const Logging&) const = default;
};

/// Artificial limits that slow a rank down; 0: no limit.
struct Throttle {
    // Maximum rates between tiers, in bytes per second.
    double nvme_read = 0;
    double nvme_write = 0;
    double host_to_device = 0;
    double device_to_host = 0;
    double compute = 0;  ///< minimum seconds of a decoder layer's forward; of its backward: twice as long
    double tensor = 0;   ///< maximum rate of collectives on the tensor axis, in bytes per second of a rank

    bool operator==(const Throttle&) const = default;
};

struct Debug {
    int nodes = 0;  ///< emulated nodes on one machine; 0: real nodes
    Throttle throttle;

    bool operator==(const Debug&) const = default;
};

// ---------------------------------------------------------------- complete specification

/// Forward passes of tokens of any sequences that read and extend a KV cache. Decks do not set them.
struct CachedPasses {
    std::int64_t sequences = 0;    ///< in the cache at a time; 0: the run has no such passes
    std::int64_t positions = 0;    ///< maximum length of a sequence
    std::int64_t pages = 0;        ///< of each layer (layout::CacheSizes); 0: enough for all sequences
    std::int64_t prompt_rows = 0;  ///< tokens of a pass that computes no logits
    std::int64_t logit_rows = 0;   ///< tokens of a pass that computes logits and losses

    bool operator==(const CachedPasses&) const = default;
};

struct RunSpec {
    Run run;
    Model model;
    Data data;
    Train train;
    Validate validate;
    Parallel parallel;
    Sharding sharding;
    Tiers tiers;
    Overlap overlap;
    Recompute recompute;
    /// State per pipeline stage; replaces `recompute` and the homes in `tiers`. Empty if all stages are
    /// equal. If set, parallel.stage_layers lists the layers of all stages.
    /// With any, parallel.stage_layers has the layers of all.
    std::vector<StageState> stages;
    Precision precision;
    Optimizer optimizer;
    LearningRate schedule;
    Checkpoint checkpoint;
    Logging logging;
    Debug debug;
    /// Set for inference, which then has no other passes. See spec::cached_passes.
    CachedPasses cached;

    bool operator==(const RunSpec&) const = default;
};

}  // namespace ziggurat::spec
