#include "tests/support/device/failing_device.hpp"

#include <unistd.h>

#include <array>
#include <functional>

#include "base/error.hpp"
#include "device/async_queue.hpp"

namespace ziggurat::test {
namespace {

using device::AsyncQueue;
using device::EventHandle;

[[noreturn]] void fail() {
    throw Error{ErrorKind::resource, "the device is gone"};
}

[[noreturn]] void wait_for_ever() {
    while (true) {
        pause();
    }
}

/// Fails if the device is lost.
void ask(const DeviceFate& fate) {
    const bool refuses = fate.failure == DeviceFailure::lost || fate.failure == DeviceFailure::lost_late ||
                         fate.failure == DeviceFailure::stuck;
    if (refuses && fate.has_failed) {
        fail();
    }
}

bool is_hanging(const DeviceFate& fate) {
    return fate.has_failed && (fate.failure == DeviceFailure::hangs || fate.failure == DeviceFailure::blocks);
}

class FailingMark final : public EventHandle {
  public:
    FailingMark(std::unique_ptr<EventHandle> mark, std::shared_ptr<DeviceFate> fate)
        : mark_{std::move(mark)}, fate_{std::move(fate)} {}

    bool is_done() const override {
        ask(*fate_);
        return !is_stuck && mark_->is_done();
    }
    std::int64_t time_ns() const override {
        ask(*fate_);
        return mark_->time_ns();
    }
    EventHandle& mark() const noexcept { return *mark_; }

    bool is_stuck = false;

  private:
    std::unique_ptr<EventHandle> mark_;
    std::shared_ptr<DeviceFate> fate_;
};

class FailingQueue final : public AsyncQueue {
  public:
    FailingQueue(device::Stream stream, std::shared_ptr<DeviceFate> fate)
        : stream_{std::move(stream)},
          queue_{static_cast<AsyncQueue&>(stream_.queue())},
          fate_{std::move(fate)} {}

    void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
        if (is_failing_call()) {
            fail_here();
        }
        if (!is_hanging(*fate_)) {
            queue_.copy(to, from, bytes);
        }
    }
    void run(std::function<void()> work) override {
        if (!is_failing_call()) {
            if (!is_hanging(*fate_)) {
                queue_.run(std::move(work));
            }
            return;
        }
        switch (fate_->failure) {
            case DeviceFailure::lost:
            case DeviceFailure::stuck:
            case DeviceFailure::hangs:
            case DeviceFailure::blocks:
                fail_here();
                break;
            case DeviceFailure::lost_late:
                queue_.run([fate = fate_] {
                    fate->has_failed = true;
                    fail();
                });
                break;
            case DeviceFailure::alone:
                queue_.run(fail);
                break;
        }
    }
    std::unique_ptr<EventHandle> record_event() override {
        ask(*fate_);
        return std::make_unique<FailingMark>(queue_.record_event(), fate_);
    }
    void record(EventHandle& mark) override {
        auto& failing = dynamic_cast<FailingMark&>(mark);
        if (is_failing_call()) {
            fail_here();
        }
        failing.is_stuck = failing.is_stuck || is_hanging(*fate_);
        if (!failing.is_stuck) {
            queue_.record(failing.mark());
        }
    }
    void wait_for(const EventHandle& mark) override {
        if (is_failing_call()) {
            fail_here();
        }
        if (!is_hanging(*fate_)) {
            queue_.wait_for(dynamic_cast<const FailingMark&>(mark).mark());
        }
    }
    void finish() override {
        if (fate_->has_failed && (is_hanging(*fate_) || fate_->failure == DeviceFailure::stuck)) {
            wait_for_ever();
        }
        queue_.finish();
        ask(*fate_);
    }
    std::byte* reachable(const std::byte* address) const override { return queue_.reachable(address); }

  private:
    bool is_failing_call() {
        ask(*fate_);
        return ++fate_->num_calls == fate_->failing_call;
    }
    /// Marks the device as failed. Returns if the device hangs.
    void fail_here() const {
        fate_->has_failed = true;
        if (fate_->failure == DeviceFailure::blocks) {
            wait_for_ever();
        }
        if (!is_hanging(*fate_)) {
            fail();
        }
    }

    device::Stream stream_;
    AsyncQueue& queue_;
    std::shared_ptr<DeviceFate> fate_;
};

}  // namespace

std::optional<DeviceFailure> device_failure_named(std::string_view name) {
    constexpr std::array named{
        std::pair{"lost", DeviceFailure::lost},   std::pair{"lost_late", DeviceFailure::lost_late},
        std::pair{"alone", DeviceFailure::alone}, std::pair{"stuck", DeviceFailure::stuck},
        std::pair{"hangs", DeviceFailure::hangs}, std::pair{"blocks", DeviceFailure::blocks}};
    for (const auto& [known, failure] : named) {
        if (name == known) {
            return failure;
        }
    }
    return std::nullopt;
}

device::Stream FailingDevice::make_stream() {
    return {device::MemorySpace::emulated_host, std::make_shared<FailingQueue>(device_->make_stream(), fate_),
            num_threads_, watch_};
}

}  // namespace ziggurat::test
