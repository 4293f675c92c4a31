/// Parameter tensors of a model by name, and whether a run trains them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// One tensor, as patterns name it. `layout::family_table` has the same ones in the same order; a test says
/// so.
struct Tensor {
    std::string name;
    int unit = 0;                     ///< 0: embedding, then the layers, then the head
    std::int64_t elements = 0;        ///< rows that only pad the vocabulary do not count
    bool joined_to_previous = false;  ///< both are parts of one matrix or vector: q, k, v or gate, up

    bool operator==(const Tensor&) const = default;
};

/// All tensors of `model`, in order of use.
std::vector<Tensor> tensors(const Model& model);

/// Whether the tensor is trained; one that is not is frozen: it has no gradient and no optimizer state.
bool is_trained(const Train& train, std::string_view tensor);

/// Numbers in tensors that the run trains; a tied table counts once.
std::int64_t count_trained(const RunSpec& run);

}  // namespace ziggurat::spec
