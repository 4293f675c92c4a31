/// StrayingDevice: a device with a planted mistake, kernels on another stream than they were given to.
#pragma once

#include <memory>

#include "device/device.hpp"

namespace ziggurat::test {

/// The order that a kernel on the wrong stream keeps. On its own stream it would need no wait for any.
enum class KeptOrder {
    all,      ///< no mistake: the stream is another one, and nothing can tell
    behind,   ///< begins when what was called before it is done; what comes after it does not wait for it
    in_front  ///< is done before what comes after it begins; does not wait for what was called before it
};

/// Runs every third kernel of a stream on another one. Copies, events and all other kernels are where they
/// belong, so that who issues them sees nothing unusual.
class StrayingDevice final : public device::Device {
  public:
    /// \param device  a DelayedHost
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
