/// Activations that backward of a model's units reads, by name.
#pragma once

#include <string>
#include <vector>

#include "layout/families/family.hpp"

namespace ziggurat::layout {

/// Value that forward saves for backward, or the output of a unit before a layer.
struct Activation {
    std::string name;  ///< of the unit and of the value: `layers.3.mlp.up`
    UnitId unit = -1;
    int value = -1;
    /// True if backward of the unit can compute the value again from the unit's input.
    bool is_recomputable = false;
};

std::string activation_name(const Unit& unit, int value);

/// Returns, by value of `unit`, true if its backward reads the value.
///
/// These are inputs of products with trained weights, and values that other phases save.
/// \param runs  by phase: true if backward runs through it; empty: it runs through all phases
std::vector<bool> read_by_backward(const FamilyTable& table, UnitId unit, const std::vector<bool>& runs = {});

/// Returns the activations of the embedding and of layers, in order of units.
///
/// Units that neither run backward nor write the input of one that does are omitted.
/// The output of a unit is an activation of that unit, also as the input of the next one. The output of the
/// last layer and the values of the head are omitted: backward of the head directly follows its forward.
std::vector<Activation> activations_of(const FamilyTable& table);

}  // namespace ziggurat::layout
