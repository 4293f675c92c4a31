#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tests/emulated_cuda/block.hpp"
#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/enqueue.hpp"
#include "tests/emulated_cuda/kernel_name.hpp"
#include "tests/emulated_cuda/loading.hpp"
#include "tests/emulated_cuda/memory.hpp"
#include "tests/emulated_cuda/settings.hpp"
#include "tests/emulated_cuda/streams.hpp"

using namespace emulated_cuda;  // these are functions of no namespace

namespace {

/// Returns the immediate failure of a copy between these sides.
Failure check_copy(const Owned& to, const Owned& from, int device) {
    for (const auto& side : {to, from}) {
        if (!side.is_all) {
            return {cudaErrorInvalidValue, "a copy goes beyond the end of a piece of memory"};
        }
        if (side.owner == Owner::gpu && side.device != device) {
            return {cudaErrorInvalidValue, "a copy of one GPU reaches into the memory of another"};
        }
    }
    const bool is_of_gpu = to.owner == Owner::gpu || from.owner == Owner::gpu;
    if (is_of_gpu && (to.owner == Owner::host || from.owner == Owner::host)) {
        return {cudaErrorHostMemoryNotRegistered,
                "a copy between a GPU and memory of the host that is not pinned, which would not be "
                "asynchronous"};
    }
    return {};
}

Failure copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    if (auto failure = before_work(stream); failure.error != cudaSuccess) {
        return failure;
    }
    if (bytes == 0) {
        return {};
    }
    if (auto failure = check_copy(owner_of(to, bytes), owner_of(from, bytes), stream->device);
        failure.error != cudaSuccess) {
        return failure;
    }
    if (is_to_fail(Fault::copy)) {
        return injected(cudaErrorUnknown);
    }
    push(stream, [=] {
        std::memcpy(to, from, bytes);
        return Failure{};
    });
    return {};
}

constexpr std::size_t plain_shared_bytes = 48 << 10;

/// Limits set by cudaFuncSetAttribute, by the address of the kernel.
struct SharedLimits {
    std::mutex mutex;
    std::map<const void*, std::size_t> of_kernel;
};
SharedLimits& shared_limits() {
    static SharedLimits limits;
    return limits;
}

std::size_t shared_limit_of(const void* kernel) {
    auto& limits = shared_limits();
    const std::lock_guard lock{limits.mutex};
    const auto found = limits.of_kernel.find(kernel);
    return found == limits.of_kernel.end() ? plain_shared_bytes : found->second;
}

bool is_sound(const dim3& blocks, const dim3& threads, std::size_t shared_bytes, std::size_t shared_limit) {
    const auto count = std::uint64_t{threads.x} * threads.y * threads.z;
    constexpr unsigned max = 65535;
    return blocks.x > 0 && blocks.x <= 0x7fffffff && blocks.y > 0 && blocks.y <= max && blocks.z > 0 &&
           blocks.z <= max && count > 0 && count <= 1024 && threads.z <= 64 && shared_bytes <= shared_limit;
}

/// Number of launches by the address of the kernel.
struct Launches {
    std::mutex mutex;
    std::map<const void*, std::int64_t> of_kernel;
};
Launches& all_launches() {
    static Launches launches;
    return launches;
}

Failure launch_grid(const cudaLaunchConfig_t& config, const void* kernel, std::function<void()> thread) {
    if (auto failure = before_work(config.stream); failure.error != cudaSuccess) {
        return failure;
    }
    if (!is_sound(config.gridDim, config.blockDim, config.dynamicSmemBytes, shared_limit_of(kernel))) {
        return {cudaErrorInvalidConfiguration,
                "blocks (" + std::to_string(config.gridDim.x) + ", " + std::to_string(config.gridDim.y) +
                    ", " + std::to_string(config.gridDim.z) + ") of (" + std::to_string(config.blockDim.x) +
                    ", " + std::to_string(config.blockDim.y) + ", " + std::to_string(config.blockDim.z) +
                    ") threads with " + std::to_string(config.dynamicSmemBytes) +
                    " bytes of dynamic shared memory"};
    }
    if (is_to_fail(Fault::launch)) {
        return injected(cudaErrorLaunchOutOfResources);
    }
    if (auto failure = emulated_cuda::load(kernel, name_of_kernel); failure.error != cudaSuccess) {
        return failure;
    }
    count_launch(kernel);
    const bool is_illegal = is_to_fail(Fault::illegal);
    push(config.stream, [is_illegal, grid = Grid{.blocks = config.gridDim,
                                                 .threads = config.blockDim,
                                                 .shared_bytes = config.dynamicSmemBytes,
                                                 .kernel = kernel,
                                                 .thread = std::move(thread)}] {
        if (is_illegal) {
            return injected(cudaErrorIllegalAddress);
        }
        Failure failure;
        failure.what = run_grid(grid, failure.error);
        return failure;
    });
    return {};
}

}  // namespace

namespace emulated_cuda {

void count_launch(const void* address) {
    auto& launches = all_launches();
    const std::lock_guard lock{launches.mutex};
    ++launches.of_kernel[address];
}

std::map<std::string, std::int64_t> launches_by_kernel() {
    auto& launches = all_launches();
    const std::lock_guard lock{launches.mutex};
    std::map<std::string, std::int64_t> by_name;
    for (const auto& [address, count] : launches.of_kernel) {
        by_name[name_of_kernel(address)] += count;
    }
    return by_name;
}

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        static_cast<std::size_t>(value) > settings().shared_bytes) {
        return report_error({cudaErrorInvalidValue, "more shared memory than a block can have"});
    }
    auto& limits = shared_limits();
    const std::lock_guard lock{limits.mutex};
    limits.of_kernel[kernel] = static_cast<std::size_t>(value);
    return cudaSuccess;
}

cudaError_t load(const void* kernel) {
    return report_error(load(kernel, name_of_kernel));
}

cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, std::function<void()> thread) {
    return report_error(launch_grid(config, kernel, std::move(thread)));
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
    if (auto failure = before_work(stream); failure.error != cudaSuccess) {
        return report_error(failure);
    }
    push(stream, [work = std::move(work)] {
        work();
        return Failure{};
    });
    return cudaSuccess;
}

}  // namespace emulated_cuda

cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    if (kind != cudaMemcpyDefault) {
        return report_error(
            {cudaErrorInvalidValue, "a direction is not said, for addresses tell it: cudaMemcpyDefault"});
    }
    return report_error(copy(to, from, bytes, stream));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t work, void* data) {
    return enqueue(stream, [=] { work(data); });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
    if (auto failure = before_work(stream); failure.error != cudaSuccess) {
        return report_error(failure);
    }
    const auto owned = owner_of(to, bytes);
    if ((owned.owner == Owner::gpu && owned.device != stream->device) || !owned.is_all) {
        return report_error({cudaErrorInvalidValue,
                             "what is to be filled is not in one piece of memory that the GPU reaches"});
    }
    push(stream, [=] {
        std::memset(to, value, bytes);
        return Failure{};
    });
    return cudaSuccess;
}
