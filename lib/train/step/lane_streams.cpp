#include "train/step/lane_streams.hpp"

#include <stdexcept>

namespace ziggurat::train {

using schedule::Engine;

LaneStreams::LaneStreams(const device::RankDevices& devices, const device::Stream& compute)
    : host_{devices.host},
      compute_{compute},
      host_to_device_{*devices.device},
      device_to_host_{*devices.device} {}

const device::Stream& LaneStreams::of(const schedule::Lane& lane) const {
    switch (lane.engine) {
        case Engine::compute:
            return compute_;
        case Engine::host_to_device:
            return host_to_device_.of(lane);
        case Engine::device_to_host:
            return device_to_host_.of(lane);
        case Engine::collective:
        case Engine::channel:
        case Engine::nvme_read:
        case Engine::nvme_write:
        case Engine::host_optimizer:
        case Engine::step_end:
            return host_;
    }
    throw std::invalid_argument{"no Engine"};
}

const device::Stream& LaneStreams::of(const schedule::Program& program, const schedule::Op& op) const {
    return of(program.lanes.at(op.lane));
}

std::vector<device::Stream> LaneStreams::of(const schedule::Program& program) const {
    std::vector<device::Stream> streams;
    for (const auto& lane : program.lanes) {
        streams.push_back(of(lane));
    }
    return streams;
}

}  // namespace ziggurat::train
