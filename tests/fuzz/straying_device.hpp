/// StrayingDevice: a device with a planted bug, kernels on a wrong stream.
#pragma once

#include <memory>

#include "device/device.hpp"

namespace ziggurat::test {

/// Order that a kernel on the wrong stream keeps. On the right stream it would not need waits.
enum class KeptOrder {
    all,      ///< no bug: another stream with full ordering, which has no effect
    after,    ///< begins after the calls before it; the calls after it do not wait for it
    in_front  ///< ends before the calls after it begin; does not wait for the calls before it
};

/// Runs every third kernel of a stream on another one. Copies, events and all other kernels run on the
/// right stream, so that the caller does not notice a difference.
class StrayingDevice final : public device::Device {
  public:
    /// \param device  a EmulatedDevice
    StrayingDevice(std::shared_ptr<device::Device> device, int num_threads, KeptOrder kept)
        : device_{std::move(device)}, num_threads_{num_threads}, kept_{kept} {}

    device::Arena reserve(std::int64_t bytes, const char* purpose, device::Arena::Kind kind) override {
        return device_->reserve(bytes, purpose, kind);
    }
    device::Stream make_stream() override;

  private:
    std::shared_ptr<device::Device> device_;
    int num_threads_;
    KeptOrder kept_;
};

}  // namespace ziggurat::test
