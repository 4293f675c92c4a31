#include "device/cuda/queue_cuda.hpp"

#include <utility>

#include "device/cuda/error_cuda.hpp"

namespace ziggurat::device::cuda {
namespace {

class CudaEventHandle final : public EventHandle {
  public:
    CudaEventHandle(int device, std::shared_ptr<Clock> clock) : clock_{std::move(clock)} {
        use_device(device);
        check(cudaEventCreateWithFlags(&event_, cudaEventDefault), "make an event");
    }
    ~CudaEventHandle() override { cudaEventDestroy(event_); }
    CudaEventHandle(const CudaEventHandle&) = delete;
    CudaEventHandle& operator=(const CudaEventHandle&) = delete;

    bool is_done() const override { return has_completed(event_, "wait for an event"); }
    std::int64_t time_ns() const override { return clock_->time_ns(event_); }
    cudaEvent_t handle() const { return event_; }

  private:
    std::shared_ptr<Clock> clock_;
    cudaEvent_t event_ = nullptr;
};

}  // namespace

CudaQueue::CudaQueue(int device,
                     Priority priority,
                     std::shared_ptr<Clock> clock,
                     std::shared_ptr<Libraries> libraries,
                     std::shared_ptr<UnpinnedRanges> unpinned)
    : device_{device},
      clock_{std::move(clock)},
      libraries_{std::move(libraries)},
      unpinned_{std::move(unpinned)} {
    use_device(device_);
    int lowest = 0, highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "find the priorities of streams");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                       priority == Priority::high ? highest : lowest),
          "make a stream");
}

CudaQueue::~CudaQueue() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
}

void CudaQueue::copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    if (is_loading()) {
        return;
    }
    const bool is_to_unpinned = unpinned_->touches(to, bytes);
    if (is_to_unpinned || unpinned_->touches(from, bytes)) {
        if (unpinned_copies_ == nullptr) {
            unpinned_copies_ = std::make_unique<UnpinnedCopies>();
        }
        const auto copy = is_to_unpinned ? &UnpinnedCopies::from_gpu : &UnpinnedCopies::into_gpu;
        ((*unpinned_copies_).*copy)(handle(), to, from, bytes);
        return;
    }
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, handle()), "copy from or to a GPU's memory");
}

std::unique_ptr<EventHandle> CudaQueue::record_event() {
    return std::make_unique<CudaEventHandle>(device_, clock_);
}

void CudaQueue::record(EventHandle& mark) {
    clock_->tick();
    check(cudaEventRecord(static_cast<CudaEventHandle&>(mark).handle(), handle()), "record an event");
}

void CudaQueue::wait_for(const EventHandle& mark) {
    check(cudaStreamWaitEvent(handle(), static_cast<const CudaEventHandle&>(mark).handle(), 0),
          "make a stream wait for an event");
}

void CudaQueue::finish() {
    check(cudaStreamSynchronize(handle()), "finish a stream's work");
}

namespace {

thread_local bool is_loading_now = false;

/// Sets is_loading() for the lifetime of this object.
class Loading {
  public:
    Loading() noexcept { is_loading_now = true; }
    ~Loading() { is_loading_now = false; }
    Loading(const Loading&) = delete;
    Loading& operator=(const Loading&) = delete;
};

}  // namespace

bool is_loading() noexcept {
    return is_loading_now;
}

StartedLaunches::StartedLaunches() noexcept : was_loading_{std::exchange(is_loading_now, false)} {}

StartedLaunches::~StartedLaunches() {
    is_loading_now = was_loading_;
}

void CudaQueue::load(const std::function<void()>& work) {
    const Loading loading;
    work();
}

cudaStream_t CudaQueue::handle() const {
    use_device(device_);
    return stream_;
}

cudaStream_t handle_of(const Stream& stream) {
    return static_cast<const CudaQueue&>(stream.queue()).handle();
}

Libraries& libraries_of(const Stream& stream) {
    return static_cast<const CudaQueue&>(stream.queue()).libraries();
}

namespace {

/// Current GPU of the calling thread, if set by use_device() or try_device(); else -1.
thread_local int current_device = -1;

}  // namespace

void use_device(int device) {
    if (current_device != device) {
        check(cudaSetDevice(device), "use a GPU");
        current_device = device;
    }
}

bool try_device(int device) noexcept {
    if (current_device != device) {
        if (cudaSetDevice(device) != cudaSuccess) {
            return false;
        }
        current_device = device;
    }
    return true;
}

}  // namespace ziggurat::device::cuda
