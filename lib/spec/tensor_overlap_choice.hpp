/// Choice of overlap.tensor: auto.
#pragma once

#include <string>

namespace ziggurat::spec {

/// Form of the collectives on the tensor axis: whole or in pieces, and the reason for it.
struct TensorOverlapChoice {
    bool in_pieces = false;
    std::string reason;
};

}  // namespace ziggurat::spec
