/// GPUs by CUDA, where the build has them (ZIGGURAT_CUDA).
#pragma once

#include <memory>

#include "device/built_for.hpp"
#include "device/device.hpp"
#include "device/discovery.hpp"

namespace ziggurat::device {

namespace cuda {

/// The GPUs that this process sees; none where the driver is missing or too old.
Discovery discover();

/// GPU number `index` of those that this process sees.
///
/// \param watch  hears of waits for its streams, and outlives it and all that it makes; nothing: nobody does
/// Errors: Error{resource} when there is no such GPU, or it cannot be used
std::shared_ptr<Device> make_device(int index, WaitWatch* watch);

}  // namespace cuda
}  // namespace ziggurat::device
