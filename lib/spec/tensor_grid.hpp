/// Sides of grids of tensor ranks (parallel.tensor.mode).
#pragma once

#include <cmath>

namespace ziggurat::spec {

/// Returns the largest q with q x q ranks among `ranks`.
inline int side_of_grid(int ranks) {
    int side = static_cast<int>(std::sqrt(static_cast<double>(ranks)));
    while (side > 1 && side > ranks / side) {
        --side;
    }
    return side;
}

/// Returns the largest q with q x q x q ranks among `ranks`.
inline int side_of_cube(int ranks) {
    int side = static_cast<int>(std::cbrt(static_cast<double>(ranks))) + 1;
    while (side > 1 && side > ranks / side / side) {
        --side;
    }
    return side;
}

}  // namespace ziggurat::spec
