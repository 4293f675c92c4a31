/// News of tensors that are frozen, or were, for a run that begins with what is stored of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece.hpp"
#include "layout/family.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// A note of the tensors whose moments begin at zero, as they were frozen when the checkpoint was written;
/// empty where there are none.
std::string unfrozen_note(const layout::FamilyTable& table, const checkpoint::Manifest& manifest);

/// A note of the frozen tensors that are stored in a wider type than precision.compute, in which alone a run
/// has them; empty where there are none.
///
/// \param stored  weights, in any order
std::string rounded_note(const spec::RunSpec& spec,
                         const layout::FamilyTable& table,
                         std::span<const checkpoint::Piece> stored);

}  // namespace ziggurat::train
