#include "app/stream_policy.hpp"

#include <cstdlib>

#include "device/built_for.hpp"

namespace ziggurat::app {

void choose_stream_policy() {
    if constexpr (device::has_cuda) {
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    }
}

}  // namespace ziggurat::app
