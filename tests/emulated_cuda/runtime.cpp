#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/memory.hpp"
#include "tests/emulated_cuda/settings.hpp"
#include "tests/emulated_cuda/streams.hpp"

using namespace emulated_cuda;  // these are functions of no namespace

namespace {

constexpr int runtime_version = 13000;
thread_local int current = 0;
std::array<std::atomic<std::int64_t>, 3> counted_calls{};

Failure no_device() {
    return {cudaErrorInvalidDevice, "there are " + std::to_string(settings().devices)};
}

}  // namespace

namespace emulated_cuda {

int current_device() {
    return current;
}

Failure before_call(int device) {
    auto failure = error_of(device);
    if (failure.error == cudaSuccess && device >= settings().devices) {
        failure = no_device();
    }
    return failure;
}

Failure before_work(int device) {
    if (is_to_fail(Fault::lost)) {
        set_error(device, {cudaErrorDevicesUnavailable, "the GPU is lost, as asked for"});
    }
    return before_call(device);
}

Failure before_work(cudaStream_t stream) {
    if (!is_stream(stream)) {
        return {cudaErrorInvalidResourceHandle, "this is no stream; nobody uses the default one"};
    }
    if (stream->device != current) {
        return {cudaErrorInvalidResourceHandle, "a stream of GPU " + std::to_string(stream->device) +
                                                    " is used by a thread whose GPU is " +
                                                    std::to_string(current)};
    }
    return before_work(stream->device);
}

Failure injected(cudaError_t error) {
    return {error, "as asked for"};
}

void count(Counted call) {
    ++counted_calls.at(static_cast<std::size_t>(call));
}

std::int64_t num_calls(Counted call) {
    return counted_calls.at(static_cast<std::size_t>(call));
}

}  // namespace emulated_cuda

cudaError_t cudaDriverGetVersion(int* version) {
    *version = driver_version();
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = runtime_version;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
    if (driver_version() < runtime_version) {
        return report_error({cudaErrorInsufficientDriver, {}});
    }
    *count = settings().devices;
    return report_error({*count == 0 ? cudaErrorNoDevice : cudaSuccess, {}});
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (device < 0 || device >= settings().devices) {
        return report_error(no_device());
    }
    *properties = {};
    std::strcpy(properties->name, "emulated GPU");
    properties->uuid.bytes[0] = static_cast<char>(settings().first + device);
    properties->totalGlobalMem = settings().memory;
    properties->major = 9;
    properties->multiProcessorCount = 1;
    properties->pciBusID = settings().first + device + 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (device < 0 || device >= settings().devices) {
        return report_error(no_device());
    }
    if (attribute != cudaDevAttrMaxSharedMemoryPerBlockOptin) {
        return report_error({cudaErrorInvalidValue, "an attribute that the emulated GPU does not know"});
    }
    *value = static_cast<int>(settings().shared_bytes);
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= settings().devices) {
        return report_error(no_device());
    }
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
    *device = current;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
    count(Counted::waiting);
    finish_all(current);
    return report_error(before_call(current));
}

cudaError_t cudaDeviceReset() {
    reset(current);
    free_all(current);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    *total = settings().memory;
    *free = *total - reserved_bytes(current);
    return report_error(before_call(current));
}

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
    count(Counted::reserving);
    *address = nullptr;
    auto failure = before_work(current);
    if (failure.error == cudaSuccess && bytes > 0) {
        failure = is_to_fail(Fault::malloc) ? injected(cudaErrorMemoryAllocation)
                                            : reserve(current, bytes, address);
    }
    return report_error(failure);
}

cudaError_t cudaFree(void* address) {
    if (address == nullptr) {
        return cudaSuccess;
    }
    count(Counted::reserving);
    const auto owned = owner_of(address, 1);
    if (owned.owner == Owner::gpu) {
        finish_all(owned.device);
    }
    return report_error(emulated_cuda::free(address));
}

cudaError_t cudaHostRegister(void* address, std::size_t bytes, unsigned) {
    count(Counted::reserving);
    return report_error(is_to_fail(Fault::pin) ? injected(cudaErrorMemoryAllocation)
                                               : register_host(address, bytes));
}

cudaError_t cudaHostUnregister(void* address) {
    count(Counted::reserving);
    return report_error(unregister_host(address));
}
