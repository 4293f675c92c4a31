/// The parameter tensors of a model by name and size, without the phases that use them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/families/family.hpp"

namespace ziggurat::layout {

/// One tensor as deck patterns name it.
struct Tensor {
    std::string name;
    UnitId unit = 0;                  ///< 0: embedding, then the layers, then the head
    std::int64_t elements = 0;        ///< rows that only pad the vocabulary do not count
    bool joined_to_previous = false;  ///< both are parts of one matrix or vector: q, k, v or gate, up

    bool operator==(const Tensor&) const = default;
};

/// Returns all tensors of `model` in order of use: those of family_table, from the unit of one layer.
std::vector<Tensor> tensors(const spec::Model& model);

/// Returns the number of elements of a parameter without rows that only pad the vocabulary.
std::int64_t unpadded_elements(const Parameter& parameter);

}  // namespace ziggurat::layout
