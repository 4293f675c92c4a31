#include "app/start/gpu_policy.hpp"

#include <cstdlib>

#include "comm/built_with.hpp"
#include "device/built_for.hpp"

namespace ziggurat::app {

void choose_gpu_policy() {
    constexpr int keep = 0;  // do not overwrite values that the user has set
    if constexpr (device::has_cuda) {
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", keep);
    }
    if constexpr (comm::has_nccl) {
        setenv("NCCL_ALGO", "allreduce:ring;reducescatter:ring", keep);
    }
}

}  // namespace ziggurat::app
