/// GPUs through CUDA, if the build has them (ZIGGURAT_CUDA).
#pragma once

#include <memory>

#include "device/built_for.hpp"
#include "device/device.hpp"
#include "device/discovery.hpp"

namespace ziggurat::device {

namespace cuda {

/// Returns the GPUs that are visible to this process; none if the driver is missing or too old.
Discovery discover();

/// Returns the GPU with number `index` of those visible to this process.
///
/// The calling thread is the one that polls the GPU: its sleeps, and those of threads that it starts later,
/// end at most 1 us late (PR_SET_TIMERSLACK) instead of 50 us.
///
/// \param watch  is notified of waits for its streams, and outlives all that is created; may be nullptr
/// Errors: Error{resource} if the GPU does not exist or cannot be used
std::shared_ptr<Device> make_device(int index, WaitObserver* watch);

}  // namespace cuda
}  // namespace ziggurat::device
