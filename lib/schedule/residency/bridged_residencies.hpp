/// Residencies on the device that become one, because their bytes stay there in between.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/residency/transfer_residencies.hpp"

namespace ziggurat::schedule {

/// Residency of state on the device, for the choice of chunks that stay there.
struct DeviceResidency {
    int residency = -1;        ///< index in Residencies::residencies before any are merged
    int home = -1;             ///< the buffer as earlier passes name it
    BufferId buffer = -1;      ///< its buffer on the device
    std::int64_t fetched = 0;  ///< bytes over all links that lead to the device
    std::int64_t written = 0;  ///< the same for changes that leave it
    int next = -1;             ///< the residency until which its bytes may stay; -1 without one
};

/// Returns the residencies on the device, without their buffers.
///
/// A residency may stay until the next one of the same buffer that uses its bytes, if that one is on the
/// device, fetches no other bytes and needs no larger buffer. In between, no op may change the bytes at home,
/// and none may use there what the residency has changed. A pipeline without a flush runs all ops of a stay
/// in the same steps, also while it fills and drains.
std::vector<DeviceResidency> device_residencies(const Program& program, const Residencies& found);

/// Merges each residency that stays with the next one of its home. Changes are then evicted one time.
///
/// \param stays  by index of the residency, false for missing ones; only residencies that may stay are true
void merge_residencies(const Program& program, Residencies& found, const std::vector<bool>& stays);

}  // namespace ziggurat::schedule
