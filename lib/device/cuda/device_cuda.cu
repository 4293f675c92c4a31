#include <sys/prctl.h>

#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "device/cuda.hpp"
#include "device/cuda/clock_cuda.hpp"
#include "device/cuda/error_cuda.hpp"
#include "device/cuda/pin_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "device/watched_queue.hpp"

namespace ziggurat::device::cuda {
namespace {

/// Memory of an arena and, for a shared one, its staging memory on the host.
struct Reserved {
    Reserved(int of_device, WaitObserver* receives) : device{of_device}, watch{receives} {}
    ~Reserved() {
        const ScopedWait wait{watch, "its GPU to free memory"};
        if (memory != nullptr && try_device(device)) {
            cudaFree(memory);
        }
    }
    Reserved(const Reserved&) = delete;
    Reserved& operator=(const Reserved&) = delete;

    int device;
    WaitObserver* watch;
    void* memory = nullptr;
    Arena staging{0, "the host's side of an arena"};
};

class Gpu final : public Device {
  public:
    Gpu(int index, WaitObserver* watch)
        : index_{index},
          watch_{watch},
          clock_{std::make_shared<Clock>(index)},
          libraries_{std::make_shared<Libraries>(index)},
          unpinned_{std::make_shared<UnpinnedRanges>()} {}

    Arena reserve(std::int64_t bytes, const char* purpose, Arena::Kind kind) override {
        if (bytes == 0) {
            return Arena{Arena::OfDevice{}};
        }
        const ScopedWait wait{watch_, "its GPU to reserve memory"};
        use_device(index_);
        auto owned = std::make_shared<Reserved>(index_, watch_);
        auto doing = "reserve " + std::to_string(bytes) + " bytes on GPU " + std::to_string(index_) +
                     " for " + purpose;
        const auto result = cudaMalloc(&owned->memory, bytes);
        std::size_t free = 0, total = 0;
        if (result == cudaErrorMemoryAllocation && cudaMemGetInfo(&free, &total) == cudaSuccess) {
            doing += ", where " + std::to_string(free) + " of " + std::to_string(total) + " bytes are free";
        }
        check(result, doing.c_str());
        CudaQueue queue{index_, Priority::normal, clock_, libraries_, unpinned_};
        check(cudaMemsetAsync(owned->memory, 0, bytes, queue.handle()), doing.c_str());
        queue.finish();
        Arena::OfDevice made;
        made.data = static_cast<std::byte*>(owned->memory);
        made.bytes = bytes;
        if (kind == Arena::Kind::shared) {
            owned->staging = Arena{bytes, purpose, kind};
            made.staging = owned->staging.data();
            made.descriptor = owned->staging.descriptor();
        }
        made.owner = std::move(owned);
        return Arena{std::move(made)};
    }

    using Device::pin;
    std::shared_ptr<void> pin(std::byte* begin, std::int64_t bytes) override {
        if (bytes == 0) {
            return nullptr;
        }
        const ScopedWait wait{watch_, "its GPU to pin memory"};
        use_device(index_);
        cuda::pin(begin, bytes);
        return {begin, [device = index_](void* address) {
                    if (try_device(device)) {
                        cudaHostUnregister(address);
                    }
                }};
    }

    std::shared_ptr<void> copy_unpinned(std::byte* begin, std::int64_t bytes) override {
        if (bytes == 0) {
            return nullptr;
        }
        unpinned_->add(begin, bytes);
        return {begin, [ranges = unpinned_](std::byte* address) { ranges->remove(address); }};
    }

    Stream make_stream() override { return make_stream(Priority::normal); }
    Stream make_urgent_stream() override { return make_stream(Priority::high); }

  private:
    Stream make_stream(Priority priority) {
        return {MemorySpace::cuda,
                watched(std::make_shared<CudaQueue>(index_, priority, clock_, libraries_, unpinned_), watch_),
                1, watch_};
    }

    int index_;
    WaitObserver* watch_;
    std::shared_ptr<Clock> clock_;
    std::shared_ptr<Libraries> libraries_;
    std::shared_ptr<UnpinnedRanges> unpinned_;
};

}  // namespace

std::shared_ptr<Device> make_device(int index, WaitObserver* watch) {
    // Linux lets a sleep of a thread end up to 50 us late. A thread that polls a GPU sleeps for 20 us.
    constexpr unsigned long late_ns = 1000;
    prctl(PR_SET_TIMERSLACK, late_ns);
    const ScopedWait wait{watch, "its GPU to be made ready"};
    return std::make_shared<Gpu>(index, watch);
}

}  // namespace ziggurat::device::cuda
