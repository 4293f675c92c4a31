/// Phases that layers of several families share; only family_*.cpp includes it.
#pragma once

#include "layout/families/unit_builder.hpp"

namespace ziggurat::layout {

/// Choice of a product: whether it adds a bias.
enum class Bias { without, with };

/// Returns the standard deviation of initial weights whose product is added to the residual stream.
double residual_std(const spec::Model& model);

/// Adds the product that computes queries, keys and values of `h`. Returns its value.
///
/// Its weight consists of three adjacent tensors.
int qkv_product(UnitBuilder& unit, int h, const std::string& name, Bias bias);

/// Adds the norm of each query and key head of `raw`, with gains `attention.{q,k}_norm.gain`.
///
/// Returns the value `name`. Backward redoes it from `raw` if recompute.kind is selective.
int head_norm_phase(UnitBuilder& unit, int raw, const std::string& name);

/// Adds the norm of all queries of `raw` together, and of all keys.
///
/// Each channel of each head has a gain. Returns the value `name`. The sums of squares are kept; backward
/// redoes the rest as above.
int whole_norm_phases(UnitBuilder& unit, int raw, const std::string& name);

/// Adds the rotation of queries and keys, which overwrites `raw`. Returns the value "qkv".
///
/// \param redone  true if `raw` can be redone by recompute.kind selective
int rope_phase(UnitBuilder& unit, int raw, bool redone = false);

/// Adds causal attention over qkv, within the layer's window, without stored attention weights.
///
/// Returns its value, whose width is heads * head_dim.
int attention_phase(UnitBuilder& unit, int qkv);

/// Adds the output projection of attention. Returns the value of the branch.
int attention_projection(UnitBuilder& unit, int attended, Bias bias);

/// Adds the up projection, an activation of one input, and the down projection.
///
/// Returns the branch's value.
int mlp(UnitBuilder& unit, int h, PhaseKind activation, Bias bias);

/// Adds an activation whose output has width model.ffn_hidden. Returns its value.
int activation_phase(UnitBuilder& unit, PhaseKind kind, int x, GradientRule gradient);

/// Adds the down projection after an activation. Returns the value of the branch.
int mlp_down(UnitBuilder& unit, int active, Bias bias);

}  // namespace ziggurat::layout
