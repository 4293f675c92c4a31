/// A model as data: its units, their parameters, values and phases.
///
/// A unit is a part of the model with its own parameters: the embedding, one decoder layer, or the head. A
/// phase is a part of a unit between two points where ranks may have to communicate. A family declares what
/// each phase reads, writes and saves for backward, and how each value is sharded over the tensor axis. The
/// step program, the memory plan, the FLOP counts and the kernels are all derived from this table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/families/role.hpp"
#include "layout/unit_id.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Distribution of a value over the ranks of the tensor axis.
enum class Placement {
    replicated,    ///< every rank has all of it
    split_width,   ///< each rank has a slice of every token's elements
    split_tokens,  ///< each rank has all elements of a slice of the tokens (Megatron sequence parallelism)
    partial,       ///< every rank has a summand of it, as torch.distributed's Partial
    /// Cube: as split_width, but for the tokens of all groups of sequences of the layer of the cube.
    gathered,
    gathered_partial,  ///< cube: a summand of `gathered`
};

/// True if each rank has a summand.
constexpr bool is_sum(Placement placement) {
    return placement == Placement::partial || placement == Placement::gathered_partial;
}
/// Returns the placement of the gradient of a value that a rank needs: of a sum, all of it.
constexpr Placement of_gradient(Placement placement) {
    return placement == Placement::partial            ? Placement::replicated
           : placement == Placement::gathered_partial ? Placement::gathered
                                                      : placement;
}

enum class ElementType {
    compute,  ///< precision.compute
    f32,
};

/// Rule by which the gradient of a phase's first input is stored.
enum class GradientRule {
    fresh,     ///< written to its own buffer
    in_place,  ///< overwrites the gradient of the output
    /// Added to the gradient that later readers of the input have written; the sum is the total gradient.
    ///
    /// A branch that has no later reader gets it as a whole.
    add_in_place,
    pass_through,  ///< the same as the gradient of the output
    none,          ///< the inputs are not values (tokens)
};

enum class PhaseKind {
    embedding,      ///< tokens -> x
    norm,           ///< x -> h
    row_sums,       ///< x -> sums of the elements of each row and of their squares
    split_norm,     ///< x, these sums -> h, of which each rank has a part
    residual_norm,  ///< x, branch -> x + branch, h
    linear,         ///< y = x w^T + b
    head_norm,      ///< qkv -> qkv with normalized heads of q and k
    square_sum,     ///< qkv -> sums of the squares of q and of k
    whole_norm,     ///< qkv, these sums -> qkv with q and k normalized, each over all heads
    rope,           ///< rotates q and k in place
    attention,      ///< qkv -> out
    gelu,           ///< tanh approximation
    gelu_erf,       ///< exact, with erf
    swiglu,         ///< gate, up -> silu(gate) * up
    geglu,          ///< gate, up -> gelu(gate) * up, in tanh form
    residual,       ///< x, branch -> x + branch
    logits,         ///< the product with the vocabulary, in blocks of rows
    loss,           ///< cross-entropy of a block of rows: logits -> their gradient
};

enum class NormKind { layer_norm, rms_norm };

enum class Initial { normal, zero, one };

/// Division of a model over the ranks of a tensor group.
struct TensorSplit {
    int ranks = 1;          ///< that divide the width of values: all of them, or the columns of a grid
    bool sequence = false;  ///< Megatron sequence parallelism
    int rows = 1;           ///< rows of a grid, which divide the outputs of weights; 1: there is no grid
    bool is_cube = false;   ///< the grid is a layer of a cube: its axes take turns in dividing the width

    bool is_grid() const noexcept { return rows > 1; }
};

/// Returns the division of a run.
TensorSplit split_of(const spec::Parallel& parallel);

/// Position of a rank in its tensor group.
struct TensorPosition {
    int rank = 0;  ///< coordinate of spec::Axis::tensor
    int row = 0;   ///< coordinate of spec::Axis::tensor_row
};

/// One weight tensor.
struct Parameter {
    std::string name;                   ///< global name: "layers.3.attention.q.weight"
    Role role = Role::weight;           ///< role within its phase
    std::vector<std::int64_t> extents;  ///< global extents
    int tensor_dim = -1;                ///< the dim sharded over the tensor axis; -1: replicated
    /// Maximum number of slices of this dim: heads of keys and values.
    ///
    /// If there are more ranks than slices, neighbouring ranks share a slice. 0: one slice per rank.
    std::int64_t max_slices = 0;
    int row_slices = 1;  ///< slices over the rows of a grid of tensor ranks
    int row_dim = 0;     ///< the dim that they divide; not tensor_dim
    Initial initial = Initial::normal;
    double std = 0;  ///< standard deviation of Initial::normal
    /// Rows below this hold data, the others are zero padding; -1: all rows hold data.
    std::int64_t valid_rows = -1;
    bool joined_to_previous = false;  ///< stored directly after the previous parameter: both form one matrix
    /// True if ranks with the same slice each compute a partial gradient, which must be summed.
    ///
    /// Examples: a replicated parameter used for a part of the tokens; a key head used by some of its query
    /// heads.
    bool gradient_is_partial = false;
    bool is_trained = true;  ///< a frozen parameter has no gradient and no optimizer state

    bool operator==(const Parameter&) const = default;
};

/// A tensor that is computed for each token.
struct Value {
    std::string name;
    std::int64_t width = 0;  ///< elements per token, over the whole tensor axis
    ElementType type = ElementType::compute;
    Placement placement = Placement::replicated;
    /// Cube: the rows of the grid divide the width, and its columns have different sequences.
    ///
    /// Other values are divided as in a grid: in width by columns, and each row has its sequences.
    bool is_turned = false;
};

struct ValueUse {
    int value = -1;
    Role role = Role::input;  ///< role for the kernel
    Placement wanted = Placement::replicated;
};

/// A parameter of this unit, or of another unit (a tied head).
struct ParameterUse {
    int parameter = -1;
    UnitId unit = -1;  ///< -1: the phase's own unit

    bool operator==(const ParameterUse&) const = default;
};

/// An adapter of one weight of a product, on this rank.
///
/// All A of a phase are adjacent, followed by all B.
struct Adapter {
    std::int64_t first_column = 0;  ///< of its weight's columns in the phase's output
    std::int64_t columns = 0;

    bool operator==(const Adapter&) const = default;
};

struct Phase {
    std::string name;
    PhaseKind kind = PhaseKind::linear;
    std::vector<ValueUse> reads;   ///< the first one is the input whose gradient GradientRule describes
    std::vector<ValueUse> writes;  ///< the first one is the output
    std::vector<ValueUse> kept;    ///< saved for backward, in addition to the gradient of the output
    std::vector<ParameterUse> parameters;
    GradientRule gradient = GradientRule::fresh;
    bool writes_in_place = false;  ///< the output takes the buffer of the input
    /// Dropout applies to the branch (residual, residual_norm), the weights (attention) or the output.
    bool has_dropout = false;
    double branch_factor = 1;          ///< residual, residual_norm: constant factor of the branch
    double gain_offset = 0;            ///< norms: added to each gain
    bool redone_by_selective = false;  ///< recomputed in backward by recompute.kind selective
    std::int64_t in = 0, out = 0;      ///< linear and logits: extents of the weight on this rank
    /// linear, logits, embedding: each rank of a grid has a block of the weight, which others need in turn.
    ///
    /// In a cube, only the embedding is so.
    bool is_of_grid = false;
    std::vector<Adapter> adapters;  ///< linear: for those weights that have one
    /// Flops of the forward products on this rank; backward needs twice this number.
    double flops_per_token = 0;
    double adapter_flops_per_token = 0;  ///< the same for adapters
    /// Attention: multiply by the number of keys that a query attends to.
    double flops_per_token_and_key = 0;
    /// Attention: maximum number of keys of a query, with its own; 0: all keys before it.
    ///
    /// family_table(run) sets it to 0 if the run's sequences do not reach it.
    std::int64_t window = 0;
    bool has_window_theta = false;  ///< rope: rotates by model.window_rope_theta

    /// True if the gradient of the branch differs from that of the stream, so that it needs its own buffer.
    bool changes_branch() const noexcept { return has_dropout || branch_factor != 1; }
};

enum class UnitKind { embedding, layer, head };

struct Unit {
    std::string name;
    UnitKind kind = UnitKind::layer;
    int layer = -1;
    std::vector<Parameter> parameters;
    std::vector<Value> values;
    std::vector<Phase> phases;
    int input = -1;   ///< value written by the previous unit; -1 for the embedding
    int output = -1;  ///< value that the next unit reads; -1 for the head
};

/// The whole model, units in order of use.
struct FamilyTable {
    NormKind norm = NormKind::layer_norm;
    IndexedVector<UnitId, Unit> units;
};

/// Returns the table of `model` for one rank of a tensor group.
///
/// Errors: contract, if its ranks do not divide heads, ffn_hidden or vocab_padded, or their number neither
/// divides kv_heads nor is a multiple of it. The deck's rules reject such decks first.
FamilyTable family_table(const spec::Model& model, const TensorSplit& split);

/// Returns the table of a run, in which tensors may be frozen and windows may be out of reach.
FamilyTable family_table(const spec::RunSpec& run);

/// Returns the number of key/value heads that a rank of a tensor axis of that degree uses.
///
/// This is its part of all heads, or one head that it shares with other ranks.
std::int64_t local_kv_heads(const spec::Model& model, int tensor);

/// Returns the number of consecutive tensor ranks that hold the same slice of `parameter`.
///
/// All ranks for a replicated parameter; one for a sharded parameter, unless it has fewer slices than ranks.
int ranks_per_slice(const Parameter& parameter, int tensor);
/// Returns the index, from 0, of the slice of `parameter` on a rank of that axis.
int slice_of(const Parameter& parameter, int tensor, int tensor_rank);

/// Returns the extents of `parameter` on one rank of a tensor axis of that degree.
std::vector<std::int64_t> local_extents(const Parameter& parameter, int tensor);
std::int64_t local_elements(const Parameter& parameter, int tensor);
/// Returns the last dim of `parameter` that tensor ranks divide; 0 if they divide none.
int last_cut_dim(const Parameter& parameter);
/// Returns the first index, by dim of `parameter`, of the part that a rank of that axis has.
std::vector<std::int64_t> local_begin(const Parameter& parameter, int tensor, TensorPosition position);

/// Returns the elements of `value` per token of the whole sequence on one rank.
///
/// This is its width, divided if it is sharded.
std::int64_t local_width(const Value& value, Placement placement, int tensor);

// Functions that return single units of that table.
Unit embedding_unit(const spec::Model& model, const TensorSplit& split);
Unit layer_unit(const spec::Model& model, int layer, const TensorSplit& split);
Unit head_unit(const spec::Model& model, const TensorSplit& split);

/// Returns the name of a layer's unit: `layers.3`.
std::string layer_name(int layer);

}  // namespace ziggurat::layout
