/// Notes about tensors that are frozen, or were frozen in the checkpoint that a run starts from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece.hpp"
#include "layout/families/family.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// Returns a note of the tensors that were frozen in the checkpoint; empty if there is no such tensor.
///
/// The moments of these tensors start at zero.
std::string unfrozen_note(const layout::FamilyTable& table, const checkpoint::Manifest& manifest);

/// Returns a note that lists the frozen tensors that are rounded; empty if there is no such tensor.
///
/// A run keeps frozen tensors only in precision.compute. It rounds those that are stored in a wider type.
///
/// \param stored  stored weights, in any order
std::string rounded_note(const spec::RunSpec& spec,
                         const layout::FamilyTable& table,
                         std::span<const checkpoint::Piece> stored);

}  // namespace ziggurat::train
