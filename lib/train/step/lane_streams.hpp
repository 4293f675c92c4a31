/// Streams that the lanes of a rank's programs work on.
#pragma once

#include <vector>

#include "device/device.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::train {

/// One stream of the device for what computes, and one for each lane between device and host; all programs
/// share them. The host's optimizer, and lanes that work without a stream, have the host's.
class LaneStreams {
  public:
    /// \param compute  of the device
    LaneStreams(const device::Processors& processors, const device::Stream& compute);

    const device::Stream& of(const schedule::Lane& lane) const;
    /// Of the lane of `op`.
    const device::Stream& of(const schedule::Program& program, const schedule::Op& op) const;
    /// By lane.
    std::vector<device::Stream> of(const schedule::Program& program) const;

  private:
    /// Of the lanes of an engine: those that serve passes, updates and control.
    struct OfEngine {
        device::Stream passes, updates, control;

        explicit OfEngine(device::Device& device)
            : passes{device.make_stream()}, updates{device.make_stream()}, control{device.make_stream()} {}
        const device::Stream& of(const schedule::Lane& lane) const noexcept {
            return lane.serves_control ? control : lane.serves_updates ? updates : passes;
        }
    };

    device::Stream host_, compute_;
    OfEngine host_to_device_, device_to_host_;
};

}  // namespace ziggurat::train
