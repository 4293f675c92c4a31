#include "device/cuda/error_cuda.hpp"

#include <string>

#include "base/error.hpp"

namespace ziggurat::device::cuda {
namespace {

/// Whether the machine or its operator must change something, not we.
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
            return true;
        default:
            return false;
    }
}

const char* remedy(cudaError_t result) {
    switch (result) {
        case cudaErrorMemoryAllocation:
            return " Something else may use the GPU: see nvidia-smi.";
        case cudaErrorInsufficientDriver:
        case cudaErrorSystemDriverMismatch:
            return " Install a newer driver, or set tiers.device.kind: host.";
        case cudaErrorNoKernelImageForDevice:
            return " This build has kernels for GPUs of compute capability 8.0 and 9.0.";
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
