/// Processors of a rank in a program that computes with an emulated device (EmulatedDevice).
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>

#include "device/emulated/emulated_device.hpp"

namespace ziggurat::app {

/// Returns an emulated device, whose streams are threads with random delays, and the host stream.
///
/// \param thread  runs kernels; must outlive the result
/// \param watch   notified of waits for streams; must outlive the result
inline device::RankDevices emulated_devices(int num_threads,
                                            device::HostThread& thread,
                                            device::WaitObserver& watch) {
    return {std::make_shared<device::EmulatedDevice>(
                device::EmulatedDevice::Options{.mode = device::EmulatedDevice::Mode::threads,
                                                .seed = static_cast<std::uint64_t>(getpid()),
                                                .num_threads = num_threads,
                                                .thread = &thread,
                                                .watch = &watch}),
            device::Stream{num_threads, &thread}};
}

}  // namespace ziggurat::app
