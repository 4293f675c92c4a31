/// Specification of a run, as plain data.
///
/// `deck` fills a RunSpec from text and checks it; everything else reads it. All `auto`s are resolved, all
/// units are bytes, seconds, elements, sequences or steps. A RunSpec has everything that its readers need:
/// nothing below `app` reads text or environment variables.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "spec/dtype.hpp"

namespace ziggurat::spec {

// ---------------------------------------------------------------- run

enum class Resume { automatic, never, must, path };

struct Run {
    std::string name = "run";
    std::string dir = "runs/run";
    std::uint64_t seed = 1234;
    Resume resume = Resume::automatic;
    std::string resume_path;                   ///< when resume is `path`
    std::optional<double> time_limit_seconds;  ///< from the start of the process
    bool trace = false;
    double hang_timeout_seconds = 600;
    bool accept_data_change = false;  ///< goes on though training files are not those of the checkpoint

    bool operator==(const Run&) const = default;
};

// ---------------------------------------------------------------- model

enum class RopeScalingKind { none, linear, by_parts };

/// How rotary positions are stretched for sequences longer than those that a model was first trained on.
struct RopeScaling {
    RopeScalingKind kind = RopeScalingKind::none;
    double factor = 1;  ///< by which angles shrink
    // by_parts: angles shrink by all of it where a turn takes more than original_max_seq / low_freq_factor
    // tokens, not at all where it takes fewer than original_max_seq / high_freq_factor.
    double low_freq_factor = 1;
    double high_freq_factor = 4;
    std::int64_t original_max_seq = 8192;

    bool operator==(const RopeScaling&) const = default;
};

/// Adapters of low rank beside weights of products, which train in their place: y = x (W + alpha / rank B
/// A)^T.
///
/// Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, section 4.1
struct Lora {
    std::int64_t rank = 0;             ///< 0: there are none
    double alpha = 0;                  ///< over rank: the factor of what adapters add
    std::vector<std::string> targets;  ///< patterns of weights, alike in all layers: attention.q

    bool is_on() const noexcept { return rank > 0; }
    double factor() const noexcept { return alpha / static_cast<double>(rank); }

    bool operator==(const Lora&) const = default;
};

struct Model {
    std::string family;  ///< one of layout::families()
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;  ///< = heads without grouped queries
    std::int64_t head_dim = 0;  ///< hidden / heads
    std::int64_t ffn_hidden = 0;
    std::int64_t vocab = 0;
    std::int64_t vocab_padded = 0;  ///< rows of the embedding; the added ones are zero and never trained
    std::int64_t max_seq = 0;
    bool tie_embeddings = true;
    double norm_epsilon = 1e-5;
    double rope_theta = 10000;   ///< of families with rotary positions
    double rotary_fraction = 1;  ///< of the channels of a head: the first ones, which are turned
    double dropout = 0;          ///< of embedding, attention weights and both branches of a layer
    double embedding_gradient =
        1;                       ///< factor of the token table's gradient as looked up; not of a tied head's
    double init_std = 0.02;      ///< projections into the residual stream: init_std / sqrt(2 layers)
    std::string init_path = {};  ///< a checkpoint, or run, whose weights training begins with; empty: random
    bool is_init_published = false;  ///< init_path is a folder in the Hugging Face format
    RopeScaling rope_scaling = {};
    Lora lora = {};  ///< with any, train.only names its tensors alone

    /// Channels of a head that positions turn, in pairs.
    std::int64_t rotary_channels() const {
        return std::llround(static_cast<double>(head_dim) * rotary_fraction);
    }

    bool operator==(const Model&) const = default;
};

// ---------------------------------------------------------------- data

/// Format of token files; own: no file, but a program that calls the library brings them.
enum class TokenFormat { text, llmc, megatron, raw, own };

/// The numbers in files of the format raw, which do not say it themselves.
enum class RawType { uint16, uint32 };

struct Source {
    TokenFormat format = TokenFormat::text;
    std::string path;
    double weight = 1;
    RawType raw_type = RawType::uint16;  ///< of raw
    std::string name = {};               ///< of its losses; one name has one source of its list

    bool operator==(const Source&) const = default;
};

/// none: token ids that nobody turns into text.
enum class TokenizerKind { bytes, none, hf, sentencepiece };

/// From text to token ids and back.
struct Tokenizer {
    TokenizerKind kind = TokenizerKind::bytes;
    std::string path;  ///< of hf and sentencepiece: a file, or the folder of a model that has it
    std::string hash;  ///< of that file, `xxh3:` and 16 digits; empty: not known

    bool has_file() const { return kind == TokenizerKind::hf || kind == TokenizerKind::sentencepiece; }
    bool operator==(const Tokenizer&) const = default;
};

/// Whether a text begins with the tokenizer's begin-of-text token.
enum class AddBos { as_tokenizer_says, yes, no };

struct Data {
    Tokenizer tokenizer;
    AddBos add_bos = AddBos::as_tokenizer_says;
    std::int64_t seq = 0;
    std::vector<Source> train;
    std::vector<Source> validation;
    double held_out = 0;               ///< share of the end of each training source kept for validation
    bool shuffle = true;               ///< windows in an order given by (seed, global sample index)
    bool reset_at_document = false;    ///< attention and positions start anew at each document
    std::int64_t document_token = -1;  ///< the token that starts (llmc) or ends a document; -1: none

    bool operator==(const Data&) const = default;
};

// ---------------------------------------------------------------- train

/// What is done about a step whose loss or gradient norm lies far above those before it.
enum class SpikeAction {
    off,       ///< nobody looks
    warn,      ///< it is told
    skip,      ///< its update is not applied
    roll_back  ///< its update is not applied, and the run goes back to the newest checkpoint, behind its data
};

struct Spikes {
    SpikeAction action = SpikeAction::off;
    std::int64_t window = 128;  ///< steps that others are judged by
    double z = 6;               ///< standard deviations above their mean

    bool operator==(const Spikes&) const = default;
};

/// Early stopping, by the validation loss.
struct StopWhen {
    std::int64_t patience = 0;  ///< validations in a row without a better loss that end the run; 0: none do
    double min_delta = 0;       ///< a loss is better that is lower by more than this, nats per token
    std::optional<double> validation_loss = {};  ///< a loss of at most this ends the run

    bool is_asked() const { return patience > 0 || validation_loss.has_value(); }
    bool operator==(const StopWhen&) const = default;
};

struct Train {
    std::int64_t steps = 0;          ///< of `tokens`: those of a run that is as it is from its first step on
    std::int64_t tokens = 0;         ///< the run ends when it has consumed so many; 0: after `steps`
    std::int64_t global_batch = 0;   ///< sequences per optimizer step
    std::int64_t micro_batch = 0;    ///< sequences per rank, forward and backward
    std::int64_t micro_batches = 0;  ///< per step and rank: global_batch / (micro_batch x data degree)
    std::vector<std::string> only;   ///< patterns of trained tensors; empty: all; with model.lora its own
    Spikes spikes = {};
    StopWhen stop_when = {};

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
    std::int64_t batches = 0;  ///< validation samples in global batches, evenly spread; 0: all of them
    std::optional<Sample> sample;

    bool operator==(const Validate&) const = default;
};

// ---------------------------------------------------------------- how it is spread

enum class Axis { tensor, context, data, pipeline };
enum class TensorMode { one_d, two_d, two_and_half_d, three_d };
enum class ContextKind { ring, ulysses };
enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zero_bubble };

/// What carries vectors of GPUs between ranks: copies by way of the host, or NCCL.
enum class Transport { staged, nccl };

struct Parallel {
    int ranks = 1;
    int ranks_per_node = 1;
    int tensor = 1;
    TensorMode tensor_mode = TensorMode::one_d;
    bool sequence = false;
    int context = 1;
    ContextKind context_kind = ContextKind::ring;
    int stages = 1;
    PipelineSchedule pipeline_schedule = PipelineSchedule::one_f_one_b;
    int chunks_per_stage = 1;
    /// Decoder layers of each virtual stage (virtual stage v is a chunk of stage v % stages), in order of the
    /// model; none: layout::stage_layers spreads them by cost.
    std::vector<std::int64_t> stage_layers;
    int data = 1;
    std::vector<Axis> order = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline};  ///< fastest first
    int threads = 1;  ///< host threads of a rank's compute lane
    Transport transport = Transport::staged;

    bool operator==(const Parallel&) const = default;
};

enum class ReducePlan { at_end, each_microbatch, by_span };

/// How long parameters that are cut stay gathered: for one pass of one micro-batch, or to the end of the
/// step.
enum class LeaseSpan { pass, step };

/// Shard degrees: over how many consecutive data ranks each kind of state is sharded. 1 <= p <= g <= o <= d,
/// each dividing the next.
struct Sharding {
    int parameters = 1;
    int gradients = 1;
    int optimizer = 1;
    int secondary = 0;  ///< hpZ's second shard degree of the parameters; 0: none
    ReducePlan reduce = ReducePlan::at_end;
    int sum_group = 1;        ///< ranks summed together before groups are; = data degree for `flat`
    bool is_by_span = false;  ///< the deck names the shard degrees, and no ZeRO stage
    LeaseSpan leases = LeaseSpan::pass;

    bool operator==(const Sharding&) const = default;
};

// ---------------------------------------------------------------- where state lives

enum class Tier { device, host, nvme };

/// Shares of a state kind over the tiers, adding up to 1.
struct Home {
    double device = 1;
    double host = 0;
    double nvme = 0;

    bool operator==(const Home&) const = default;
};

enum class Movement { fixed, chunks };

/// Products, lookups or both whose weights are cut into a grid of tiles.
struct TileRule {
    std::string match;  ///< pattern of the tensors' names
    int in = 1;         ///< tiles along the inputs
    int out = 1;        ///< tiles along the outputs

    bool operator==(const TileRule&) const = default;
};

/// Settings that a deck leaves to the planner, which sees the budgets: plan::choose_homes fills them in.
struct OpenHomes {
    bool parameters = false;
    bool gradients = false;
    bool optimizer = false;
    bool activations = false;
    bool reduce = false;    ///< the sum plan follows the home of gradients
    bool tiles = false;     ///< as few as fit
    bool prefetch = false;  ///< where tiles are open: may become 0 for their sake

    bool any() const { return parameters || gradients || optimizer || activations; }
    bool operator==(const OpenHomes&) const = default;
};

/// The budget of a tier that has none.
constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// What computes, and whose memory the device tier is.
enum class DeviceKind { host, cuda };

struct Tiers {
    DeviceKind device = DeviceKind::host;
    std::int64_t device_budget_bytes = unlimited;  ///< per rank
    std::int64_t host_budget_bytes = unlimited;    ///< per node
    std::int64_t pinned_bytes = unlimited;  ///< of the host tier, per node; of no use to the host's cores
    std::int64_t nvme_budget_bytes = unlimited;  ///< per node
    std::vector<std::string> nvme_paths;
    bool nvme_near = false;
    std::int64_t nvme_block_bytes = 1 << 20;
    int nvme_queue_depth = 32;
    bool nvme_verify = false;
    std::int64_t endurance_bytes = 0;  ///< that each path stands being written; 0: not told
    Home parameters, gradients, optimizer, activations;
    OpenHomes open;  ///< none in a spec that a program is built of
    Movement movement = Movement::fixed;
    std::int64_t chunk_elements = 0;
    std::vector<TileRule> tiles;  ///< the first rule that matches a tensor holds; none: nothing is cut

    bool operator==(const Tiers&) const = default;
};

struct Overlap {
    int prefetch = 1;  ///< segments gathered ahead of their use
    /// Passes and updates by which optimizer states on NVMe are read ahead; at least twice `prefetch`.
    int optimizer_prefetch = 0;
    std::int64_t bucket_elements = 0;  ///< gradients sent in one collective; whole units are never split
    bool optimizer_with_backward = false;
    bool delayed_update = false;
    std::int64_t delayed_update_after = 0;

    bool operator==(const Overlap&) const = default;
};

enum class RecomputeKind { none, selective, full };

struct Recompute {
    RecomputeKind kind = RecomputeKind::none;
    int every = 1;  ///< units between checkpoints
    /// What every tensor rank would keep whole is kept in parts, one on each, and gathered for backward.
    bool split = false;
    /// `kind` is left to the planner, and `split` follows it: plan::choose_homes fills them in.
    bool is_open = false;

    bool operator==(const Recompute&) const = default;
};

/// Recomputation and homes of one pipeline stage.
struct StageState {
    Recompute recompute;
    Home parameters, gradients, optimizer, activations;
    OpenHomes open;  ///< of the four homes

    bool operator==(const StageState&) const = default;
};

// ---------------------------------------------------------------- numerics

struct Precision {
    DType compute = DType::f32;
    DType master = DType::f32;
    DType gradient = DType::f32;
    DType reduce = DType::f32;

    bool operator==(const Precision&) const = default;
};

enum class ClipPolicy { off, global };

struct Optimizer {
    double lr = 3e-4;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double weight_decay = 0.1;
    std::vector<std::string> no_decay;  ///< patterns of tensors without decay, besides all of one dimension
    ClipPolicy clip = ClipPolicy::global;
    double clip_norm = 1.0;

    bool operator==(const Optimizer&) const = default;
};

enum class ScheduleKind { constant, linear, cosine, warmup_stable_decay };

/// What becomes of the schedule where a run goes on with another end than it had.
enum class WhenExtended {
    rescale,  ///< it ends where the run does
    restart,  ///< another one, from there to the end of the run
    hold      ///< it ends where it would have ended, and its last learning rate stays
};

struct LearningRate {
    ScheduleKind kind = ScheduleKind::cosine;
    std::int64_t warmup_steps = 0;
    bool is_warmup_in_tokens = false;  ///< the deck says how many, or a share of a run that has so many
    WhenExtended when_extended = WhenExtended::rescale;
    std::int64_t decay_steps = 0;  ///< warmup_stable_decay: length of the last part
    double final_fraction = 0.1;

    bool operator==(const LearningRate&) const = default;
};

/// Saving the state of training.
struct Checkpoint {
    /// Saves between the one at the end and those when the run is asked to stop, which any interval brings.
    /// No value (checkpoint.every is none): no save ever, not even at the end, so the run cannot be resumed.
    std::optional<Interval> every;
    std::int64_t keep_last = 2;         ///< complete ones that stay
    std::int64_t keep_every_steps = 0;  ///< multiples of this stay for ever; 0: none
    std::int64_t keep_best = 0;         ///< those of the lowest validation losses that stay
    bool is_async = true;  ///< training goes on while files are written, from a copy of the state

    bool operator==(const Checkpoint&) const = default;
};

struct Logging {
    Interval every{.steps = 10};
    bool tensorboard = false;

    bool operator==(const Logging&) const = default;
};

/// What slows a rank down; 0: as fast as it goes.
struct Throttle {
    // Highest rates between tiers, in bytes per second.
    double nvme_read = 0;
    double nvme_write = 0;
    double host_to_device = 0;
    double device_to_host = 0;
    double compute = 0;  ///< seconds of a decoder layer's forward at least, half of those of its backward

    bool operator==(const Throttle&) const = default;
};

struct Debug {
    int nodes = 0;  ///< pretended nodes on one machine; 0: the real ones
    Throttle throttle;

    bool operator==(const Debug&) const = default;
};

// ---------------------------------------------------------------- all of it

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
    /// By pipeline stage, in place of `recompute` and of the homes in `tiers`; none where all are alike. With
    /// any, parallel.stage_layers has the layers of all.
    std::vector<StageState> stages;
    Precision precision;
    Optimizer optimizer;
    LearningRate schedule;
    Checkpoint checkpoint;
    Logging logging;
    Debug debug;

    bool operator==(const RunSpec&) const = default;
};

}  // namespace ziggurat::spec
