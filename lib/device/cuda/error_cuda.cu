#include "device/cuda/error_cuda.hpp"

#include <string>

#include "base/error.hpp"

namespace ziggurat::device::cuda {
namespace {

/// True if the user or operator must change something on the node; false for a bug in Ziggurat.
bool is_lack(cudaError_t result) {
    switch (result) {
        case cudaErrorMemoryAllocation:
        case cudaErrorNoDevice:
        case cudaErrorInvalidDevice:
        case cudaErrorInsufficientDriver:
        case cudaErrorInitializationError:
        case cudaErrorDevicesUnavailable:
        case cudaErrorECCUncorrectable:
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorSystemDriverMismatch:
        case cudaErrorDeviceUninitialized:
        case cudaErrorSystemNotReady:
        case cudaErrorCompatNotSupportedOnDevice:
        case cudaErrorMpsConnectionFailed:
        case cudaErrorMpsClientTerminated:
        case cudaErrorContained:
        case cudaErrorNvlinkUncorrectable:
            return true;
        default:
            return false;
    }
}

const char* remedy(cudaError_t result) {
    switch (result) {
        case cudaErrorMemoryAllocation:
            return " Other processes may use the GPU: see nvidia-smi.";
        case cudaErrorInsufficientDriver:
        case cudaErrorSystemDriverMismatch:
            return " Install a newer driver, or set tiers.device.kind: host.";
        case cudaErrorNoKernelImageForDevice:
            return " Build it for this GPU's compute capability (CMAKE_CUDA_ARCHITECTURES).";
        case cudaErrorSystemNotReady:
            return " The fabric manager of the node's GPUs may not run: see nvidia-smi -q and systemctl "
                   "status "
                   "nvidia-fabricmanager.";
        case cudaErrorCompatNotSupportedOnDevice:
            return " Remove CUDA's compatibility libraries from LD_LIBRARY_PATH, or install a newer driver.";
        case cudaErrorMpsConnectionFailed:
        case cudaErrorMpsClientTerminated:
            return " The multi-process service (MPS) of the node has a fault: restart it, or unset "
                   "CUDA_MPS_PIPE_DIRECTORY.";
        case cudaErrorDevicesUnavailable:
            return " Another process may use the GPU exclusively: check nvidia-smi, and the compute mode.";
        case cudaErrorContained:
        case cudaErrorNvlinkUncorrectable:
            return " The GPU has an error that ended the process: see nvidia-smi -q and the Xid lines of "
                   "dmesg, and "
                   "take the node out of use if it occurs again.";
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchFailure:
            return " If dmesg has Xid lines of that time, the GPU may be damaged.";
        case cudaErrorECCUncorrectable:
            return " The GPU's memory is damaged: take it out of use.";
        default:
            return "";
    }
}

}  // namespace

void check(cudaError_t result, const char* doing, std::source_location where) {
    if (result == cudaSuccess) {
        return;
    }
    throw Error{is_lack(result) ? ErrorKind::resource : ErrorKind::internal,
                std::string{"cannot "} + doing + " (" + cudaGetErrorName(result) + ": " +
                    cudaGetErrorString(result) + ")." + remedy(result),
                where};
}

}  // namespace ziggurat::device::cuda
