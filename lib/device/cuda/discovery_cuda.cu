#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "device/cuda.hpp"
#include "device/gpu_code.hpp"

namespace ziggurat::device::cuda {
namespace {

/// Formats a CUDA version: 13000 is 13.0.
std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Returns the reason why no GPU can be used, for messages.
std::string unavailable_reason(cudaError_t result) {
    static_cast<void>(cudaGetLastError());  // clears the last error
    int driver = 0;
    int runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0) {
        return "no GPU driver is installed";
    }
    if (driver < runtime && result == cudaErrorInsufficientDriver) {
        return "the driver supports CUDA " + version_text(driver) + ", but this program needs " +
               version_text(runtime);
    }
    return std::string{"the driver reports: "} + cudaGetErrorString(result);
}

std::string id_of(const cudaDeviceProp& properties) {
    std::string id;
    for (const char byte : properties.uuid.bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
        id += digits;
    }
    return id;
}

std::string pci_id_of(const cudaDeviceProp& properties) {
    char id[32];
    std::snprintf(id, sizeof id, "%04x:%02x:%02x.0", static_cast<unsigned>(properties.pciDomainID),
                  static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
    return id;
}

}  // namespace

Discovery discover() {
    Discovery found;
    int count = 0;
    if (const auto result = cudaGetDeviceCount(&count); result != cudaSuccess) {
        found.unavailable_reason = unavailable_reason(result);
        return found;
    }
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp properties{};
        if (const auto result = cudaGetDeviceProperties(&properties, i); result != cudaSuccess) {
            found = {};
            found.unavailable_reason = unavailable_reason(result);
            return found;
        }
        const int capability = 10 * properties.major + properties.minor;
        if (!runs_on(gpu_code, capability)) {
            found = {};
            found.unavailable_reason =
                "GPU " + std::to_string(i) + " (" + properties.name + ") has compute capability " +
                std::to_string(properties.major) + "." + std::to_string(properties.minor) +
                ", and this program is compiled for " + describe_architectures(gpu_code);
            return found;
        }
        const auto bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
        const bool is_first = found.count == 0;
        found.bytes = is_first ? bytes : std::min(found.bytes, bytes);
        found.multiprocessors = is_first ? properties.multiProcessorCount
                                         : std::min(found.multiprocessors, properties.multiProcessorCount);
        found.capability = is_first ? capability : std::min(found.capability, capability);
        found.ids.push_back(id_of(properties));
        found.pci_ids.push_back(pci_id_of(properties));
        ++found.count;
    }
    if (count == 0) {
        found.unavailable_reason = "the driver lists no GPU";
    }
    return found;
}

}  // namespace ziggurat::device::cuda
