/// Parts that layers of several families have in common; only family_*.cpp includes it.
#pragma once

#include "layout/unit_builder.hpp"

namespace ziggurat::layout {

enum class Biases { none, all };

/// Standard deviation of the initial weights of products whose output is added to the residual stream.
double residual_std(const spec::Model& model);

/// Queries, keys and values of `h` by one product of three tensors, one behind the other. Returns its value.
int qkv_product(UnitBuilder& unit, int h, const std::string& name, Biases biases);

/// Rotation of queries and keys, in place of `raw`. Returns the value "qkv".
int rope_phase(UnitBuilder& unit, int raw);

/// Causal attention over qkv; its weights are never stored. Returns the value of width heads * head_dim.
int attention_phase(UnitBuilder& unit, int qkv);

/// The product after attention. Returns the value of the branch.
int attention_projection(UnitBuilder& unit, int attended, Biases biases);

/// The product up, an activation of one input, and the product down. Returns the value of the branch.
int mlp(UnitBuilder& unit, int h, PhaseKind activation, Biases biases);

/// An activation between products, of whose input a width of model.ffn_hidden is left. Returns that value.
int activation_phase(UnitBuilder& unit, PhaseKind kind, int x, GradientRule gradient);

/// The product after an activation. Returns the value of the branch.
int mlp_down(UnitBuilder& unit, int active, Biases biases);

}  // namespace ziggurat::layout
