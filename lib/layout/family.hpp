/// A model as data: its units, their parameters, values and phases.
///
/// A unit is a part of the model with parameters of its own (the embedding, one decoder layer, the head). A
/// phase is a part of a unit between two places where ranks may have to communicate. A family says once,
/// here, what each phase reads, writes and keeps for backward and how each value is sharded over the tensor
/// axis; the step program, the memory plan, the FLOP counts and the kernels are all derived from this table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/role.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// How a value lies over the ranks of the tensor axis.
enum class Placement {
    replicated,    ///< every rank has all of it
    split_width,   ///< each rank has a slice of every token's elements
    split_tokens,  ///< each rank has all elements of a slice of the tokens (Megatron sequence parallelism)
    partial,       ///< every rank has a summand of it
};

enum class ElementType {
    compute,  ///< precision.compute
    f32,
};

/// How the gradient of a phase's first input comes about.
enum class GradientRule {
    fresh,         ///< written to a buffer of its own
    in_place,      ///< overwrites the gradient of the output
    add_in_place,  ///< added to the gradient that later readers of the input have left, which becomes the
                   ///< total
    pass_through,  ///< is the gradient of the output
    none,          ///< the inputs are not values (tokens)
};

enum class PhaseKind {
    embedding,      ///< tokens -> x
    norm,           ///< x -> h
    residual_norm,  ///< x, branch -> x + branch, h
    linear,         ///< y = x w^T + b
    rope,           ///< rotates q and k in place
    attention,      ///< qkv -> out
    gelu,           ///< in its tanh form
    gelu_erf,       ///< in its exact form
    swiglu,
    residual,  ///< x, branch -> x + branch
    logits,    ///< the product with the vocabulary, by blocks of rows
    loss,      ///< cross-entropy over a block of rows: logits -> their gradient
};

enum class NormKind { layer_norm, rms_norm };

enum class Initial { normal, zero, one };

/// One tensor of weights.
struct Parameter {
    std::string name;                   ///< global: "layers.3.attention.q.weight"
    Role role = Role::weight;           ///< within its phase
    std::vector<std::int64_t> extents;  ///< global
    int tensor_dim = -1;                ///< the dim cut over the tensor axis; -1: replicated
    /// Parts that this dim has at most: heads of keys and values. Of more ranks, neighbours share one. 0: as
    /// many as ranks.
    std::int64_t most_slices = 0;
    Initial initial = Initial::normal;
    double std = 0;                   ///< of Initial::normal
    std::int64_t valid_rows = -1;     ///< rows below this hold data, the others are zero padding; -1: all
    bool joined_to_previous = false;  ///< lies right behind the previous parameter: both form one matrix
    /// Its gradient is a summand over the ranks that hold the same slice: a replicated parameter used on a
    /// part of the tokens, a head of keys used by some of its query heads.
    bool gradient_is_partial = false;
    bool is_trained = true;  ///< a frozen one has no gradient and no optimizer state

    bool operator==(const Parameter&) const = default;
};

/// Something computed for each token.
struct Value {
    std::string name;
    std::int64_t width = 0;  ///< elements per token, over the whole tensor axis
    ElementType type = ElementType::compute;
    Placement placement = Placement::replicated;
};

struct ValueUse {
    int value = -1;
    Role role = Role::input;  ///< for the kernel
    Placement wanted = Placement::replicated;
};

/// A parameter of this unit, or of another (a tied head).
struct ParameterUse {
    int parameter = -1;
    int unit = -1;  ///< -1: the phase's own unit

    bool operator==(const ParameterUse&) const = default;
};

/// An adapter beside one weight of a product, on this rank. Of a phase, all A lie behind each other, then all
/// B.
struct Adapter {
    std::int64_t first_column = 0;  ///< of the phase's output, of those that the weight makes
    std::int64_t columns = 0;

    bool operator==(const Adapter&) const = default;
};

struct Phase {
    std::string name;
    PhaseKind kind = PhaseKind::linear;
    std::vector<ValueUse> reads;   ///< the first one is the input that GradientRule speaks of
    std::vector<ValueUse> writes;  ///< the first one is the output
    std::vector<ValueUse> kept;    ///< what backward reads, besides the gradient of the output
    std::vector<ParameterUse> parameters;
    GradientRule gradient = GradientRule::fresh;
    bool writes_in_place = false;  ///< the output takes the buffer of the input
    bool has_dropout =
        false;  ///< on the branch (residual, residual_norm), the weights (attention) or the output
    bool redone_by_selective = false;  ///< recomputed in backward by recompute.kind selective
    std::int64_t in = 0, out = 0;      ///< linear and logits: extents of the weight on this rank
    std::vector<Adapter> adapters;     ///< linear: beside which weights there are some
    double flops_per_token = 0;        ///< of the forward products on this rank; backward takes twice as many
    double adapter_flops_per_token = 0;  ///< the same of adapters
    double flops_per_token_and_key = 0;  ///< attention: times the keys a query sees
};

enum class UnitKind { embedding, layer, head };

struct Unit {
    std::string name;
    UnitKind kind = UnitKind::layer;
    int layer = -1;
    std::vector<Parameter> parameters;
    std::vector<Value> values;
    std::vector<Phase> phases;
    int input = -1;   ///< value that the unit before leaves; -1 for the embedding
    int output = -1;  ///< value that the next unit reads; -1 for the head
};

/// The whole model, units in order of use.
struct FamilyTable {
    NormKind norm = NormKind::layer_norm;
    std::vector<Unit> units;
};

/// The table of `model` as one rank of a tensor axis of degree `tensor` sees it.
///
/// Errors: contract, when `tensor` does not divide heads, ffn_hidden or vocab_padded, or neither divides
/// kv_heads nor is a multiple of it (the deck's rules say so first)
FamilyTable family_table(const spec::Model& model, int tensor, bool sequence);

/// The same for a run, in which tensors may be frozen.
FamilyTable family_table(const spec::RunSpec& run);

/// Heads of keys and values that a rank of a tensor axis of that degree computes with: its part of them, or
/// one that it shares with others.
std::int64_t local_kv_heads(const spec::Model& model, int tensor);

/// Ranks of a tensor axis of that degree which hold the same slice of `parameter`, and follow each other: all
/// of a replicated one, one of a tensor that is cut, unless it has fewer slices than there are ranks.
int ranks_per_slice(const Parameter& parameter, int tensor);
/// The slice of `parameter` on a rank of that axis, counted from 0.
int slice_of(const Parameter& parameter, int tensor, int tensor_rank);

/// Extents of `parameter` on one rank of a tensor axis of that degree.
std::vector<std::int64_t> local_extents(const Parameter& parameter, int tensor);
std::int64_t local_elements(const Parameter& parameter, int tensor);

/// Elements of `value` per token of the whole sequence on one rank: its width, cut where it is split.
std::int64_t local_width(const Value& value, Placement placement, int tensor);

// The units of that table, one by one.
Unit embedding_unit(const spec::Model& model, int tensor, bool sequence);
Unit layer_unit(const spec::Model& model, int layer, int tensor, bool sequence);
Unit head_unit(const spec::Model& model, int tensor, bool sequence);

/// Name of a layer's unit: `layers.3`.
std::string layer_name(int layer);

}  // namespace ziggurat::layout
