#include "tests/fuzz/straying_device.hpp"

#include <functional>
#include <utility>

#include "base/contract.hpp"
#include "device/async_queue.hpp"

namespace ziggurat::test {
namespace {

using device::AsyncQueue;
using device::EventHandle;

class StrayingQueue final : public AsyncQueue {
  public:
    StrayingQueue(device::Stream own, device::Stream other, KeptOrder kept)
        : own_stream_{std::move(own)},
          other_stream_{std::move(other)},
          own_{queue_of(own_stream_)},
          other_{queue_of(other_stream_)},
          mark_{own_.record_event()},
          kept_{kept} {}

    void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
        own_.copy(to, from, bytes);
    }
    std::unique_ptr<EventHandle> record_event() override { return own_.record_event(); }
    void record(EventHandle& mark) override { own_.record(mark); }
    void wait_for(const EventHandle& mark) override { own_.wait_for(mark); }
    /// Finishes both streams: pending calls may hold addresses that are invalid later.
    void finish() override {
        try {
            other_.finish();
        } catch (...) {
            own_.finish();
            throw;
        }
        own_.finish();
    }
    std::byte* reachable(const std::byte* address) const override { return own_.reachable(address); }

    void run(std::function<void()> work) override {
        if (++num_kernels_ % 3 != 0) {
            own_.run(std::move(work));
            return;
        }
        if (kept_ != KeptOrder::in_front) {
            own_.record(*mark_);
            other_.wait_for(*mark_);
        }
        other_.run(std::move(work));
        if (kept_ != KeptOrder::after) {
            other_.record(*mark_);
            own_.wait_for(*mark_);
        }
    }

  private:
    static AsyncQueue& queue_of(const device::Stream& stream) {
        ZG_EXPECTS(stream.space() == device::MemorySpace::emulated_host);
        return static_cast<AsyncQueue&>(stream.queue());
    }

    device::Stream own_stream_, other_stream_;
    AsyncQueue &own_, &other_;
    std::unique_ptr<EventHandle> mark_;
    KeptOrder kept_;
    std::size_t num_kernels_ = 0;
};

}  // namespace

device::Stream StrayingDevice::make_stream() {
    return {device::MemorySpace::emulated_host,
            std::make_shared<StrayingQueue>(device_->make_stream(), device_->make_stream(), kept_),
            num_threads_, nullptr};
}

}  // namespace ziggurat::test
