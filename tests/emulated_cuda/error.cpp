#include "tests/emulated_cuda/error.hpp"

#include <array>

namespace emulated_cuda {
namespace {

thread_local Failure last;
thread_local std::string last_text;

struct Known {
    cudaError_t error;
    const char* name;
    const char* text;  ///< text of the real runtime
};
constexpr std::array known{
    Known{cudaSuccess, "cudaSuccess", "no error"},
    Known{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    Known{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    Known{cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    Known{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    Known{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
          "CUDA driver version is insufficient for CUDA runtime version"},
    Known{cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
          "CUDA-capable device(s) is/are busy or unavailable"},
    Known{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    Known{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    Known{cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "invalid device context"},
    Known{cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
          "no kernel image is available for execution on the device"},
    Known{cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    Known{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    Known{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    Known{cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    Known{cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
          "too many resources requested for launch"},
    Known{cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
          "part or all of the requested memory range is already mapped"},
    Known{cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
          "pointer does not correspond to a registered memory region"},
    Known{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    Known{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    Known{cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch",
          "system has unsupported display driver / cuda driver combination"},
    Known{cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const Known* find(cudaError_t error) {
    for (const auto& each : known) {
        if (each.error == error) {
            return &each;
        }
    }
    return nullptr;
}

}  // namespace

cudaError_t report_error(const Failure& failure) {
    if (failure.error != cudaSuccess) {
        last = failure;
    }
    return failure.error;
}

}  // namespace emulated_cuda

cudaError_t cudaGetLastError() {
    const auto error = emulated_cuda::last.error;
    emulated_cuda::last = {};
    return error;
}

cudaError_t cudaPeekAtLastError() {
    return emulated_cuda::last.error;
}

const char* cudaGetErrorName(cudaError_t error) {
    const auto* const known = emulated_cuda::find(error);
    return known == nullptr ? "unrecognized error code" : known->name;
}

const char* cudaGetErrorString(cudaError_t error) {
    const auto* const known = emulated_cuda::find(error);
    if (known == nullptr) {
        return "unrecognized error code";
    }
    if (error == cudaSuccess || error != emulated_cuda::last.error || emulated_cuda::last.what.empty()) {
        return known->text;
    }
    emulated_cuda::last_text = std::string{known->text} + ": " + emulated_cuda::last.what;
    return emulated_cuda::last_text.c_str();
}
