/// Streams of the lanes of a rank's programs.
#pragma once

#include <vector>

#include "device/device.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::train {

/// One compute stream of the device, and one stream for each lane between device and host.
///
/// All programs share these streams. The host's optimizer, and lanes that need no stream, use the host's.
class LaneStreams {
  public:
    /// \param compute  compute stream of the device
    LaneStreams(const device::RankDevices& devices, const device::Stream& compute);

    const device::Stream& of(const schedule::Lane& lane) const;
    /// Returns the stream of the lane of `op`.
    const device::Stream& of(const schedule::Program& program, const schedule::Op& op) const;
    /// Returns the streams of all lanes, by lane.
    std::vector<device::Stream> of(const schedule::Program& program) const;

  private:
    /// Streams of the lanes of one engine: those that serve passes, updates and control.
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
