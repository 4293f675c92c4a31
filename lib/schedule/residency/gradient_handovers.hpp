/// Paths of gradients to updates in backward that spare NVMe.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/residency/transfer_residencies.hpp"

namespace ziggurat::schedule {

/// Gradients that go from the device, which sums them, directly to an update on the host.
struct GradientHandover {
    std::size_t from = 0;  ///< residency that writes them
    std::size_t to = 0;    ///< residency of the update
    ByteRangeSet bytes;    ///< of their buffer at home
};

/// Removes the transfers of gradients with a home on NVMe that updates in backward do not need.
///
/// An update follows the last sum of its gradients, so it takes them from where they are: the returned
/// handovers. Gradients that no op reads before the next step overwrites them are not written to NVMe.
///
/// Source: Liao et al., "Adding NVMe SSDs to Enable and Accelerate 100B Model Fine-tuning on a Single GPU"
///         (Fuyou), 2024, section 4.2
std::vector<GradientHandover> hand_over_gradients(const Program& program, Residencies& found);

}  // namespace ziggurat::schedule
