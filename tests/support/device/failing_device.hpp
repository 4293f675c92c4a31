/// FailingDevice: a device that fails or hangs at a chosen call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "device/device.hpp"
#include "device/wait_observer.hpp"

namespace ziggurat::test {

enum class DeviceFailure {
    lost,       ///< the call and all later calls fail
    lost_late,  ///< same, once the called work is done; a copy fails immediately
    alone,      ///< the work and later work of its stream fail; a copy fails immediately
    stuck,      ///< as lost, and waits for a stream never return
    hangs,      ///< work called from then on is never done
    blocks      ///< same, and the call never returns
};
/// Returns the failure named "lost", "lost_late" ...; empty for other names.
std::optional<DeviceFailure> device_failure_named(std::string_view name);

/// State of the streams of a failing device.
struct DeviceFate {
    DeviceFailure failure;
    std::int64_t failing_call;  ///< 0: no call fails
    std::atomic<std::int64_t> num_calls{0};
    std::atomic<bool> has_failed{false};
};

/// Device that counts the calls of its streams: kernels, copies, recorded events and waits for them.
class FailingDevice final : public device::Device {
  public:
    /// \param device        a EmulatedDevice
    /// \param failing_call  number of the call, from 1; 0: it never fails
    FailingDevice(std::shared_ptr<device::Device> device,
                  int num_threads,
                  DeviceFailure failure,
                  std::int64_t failing_call,
                  device::WaitObserver* watch = nullptr)
        : device_{std::move(device)},
          num_threads_{num_threads},
          watch_{watch},
          fate_{std::make_shared<DeviceFate>(failure, failing_call)} {}

    device::Arena reserve(std::int64_t bytes, const char* purpose, device::Arena::Kind kind) override {
        return device_->reserve(bytes, purpose, kind);
    }
    device::Stream make_stream() override;

    std::int64_t num_calls() const noexcept { return fate_->num_calls; }

  private:
    std::shared_ptr<device::Device> device_;
    int num_threads_;
    device::WaitObserver* watch_;
    std::shared_ptr<DeviceFate> fate_;
};

}  // namespace ziggurat::test
