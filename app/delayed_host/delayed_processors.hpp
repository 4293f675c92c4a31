/// Processors of a rank in a program that computes with an emulated device (DelayedHost).
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>

#include "device/delayed/delayed_host.hpp"

namespace ziggurat::app {

/// Returns an emulated device, whose streams are threads with random delays, and the host stream.
///
/// \param thread  runs kernels; must outlive the result
/// \param watch   notified of waits for streams; must outlive the result
inline device::Processors delayed_processors(int num_threads,
                                             device::HostThread& thread,
                                             device::WaitWatch& watch) {
    return {std::make_shared<device::DelayedHost>(
                device::DelayedHost::Options{.mode = device::DelayedHost::Mode::threads,
                                             .seed = static_cast<std::uint64_t>(getpid()),
                                             .num_threads = num_threads,
                                             .thread = &thread,
                                             .watch = &watch}),
            device::Stream{num_threads, &thread}};
}

}  // namespace ziggurat::app
