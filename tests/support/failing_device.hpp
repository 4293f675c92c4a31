/// FailingDevice: a device that fails or hangs at a chosen call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "device/device.hpp"
#include "device/wait_watch.hpp"

namespace ziggurat::test {

enum class DeviceFailure {
    lost,       ///< the call is refused, and so is whatever is asked for after it
    lost_late,  ///< the same from when the work that was called for is done; of a copy, at once
    alone,      ///< the work fails when it is done, and what its stream was given after it; a copy, at once
    stuck,      ///< as lost, and who waits for a stream waits for ever
    hangs,      ///< nothing that is called for from then on is ever done
    blocks      ///< the same, and the call never returns
};
/// "lost", "lost_late" ...; nothing for other names.
std::optional<DeviceFailure> device_failure_named(std::string_view name);

/// Of a failing device, what its streams have come to.
struct DeviceFate {
    DeviceFailure failure;
    std::int64_t failing_call;  ///< 0: none fails
    std::atomic<std::int64_t> num_calls{0};
    std::atomic<bool> has_failed{false};
};

/// Counts what its streams are called for: kernels, copies, events that are recorded and waited for.
class FailingDevice final : public device::Device {
  public:
    /// \param device        a DelayedHost
    /// \param failing_call  from 1; 0: it never fails
    FailingDevice(std::shared_ptr<device::Device> device,
                  int num_threads,
                  DeviceFailure failure,
                  std::int64_t failing_call,
                  device::WaitWatch* watch = nullptr)
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
    device::WaitWatch* watch_;
    std::shared_ptr<DeviceFate> fate_;
};

}  // namespace ziggurat::test
