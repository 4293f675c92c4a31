/// Processors of a rank of a program that computes with a DelayedHost.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>

#include "device/delayed/delayed_host.hpp"

namespace ziggurat::app {

/// A device whose streams are threads with delays of this process's own, and the host beside it.
///
/// \param thread  runs kernels
/// \param watch   hears of waits for streams; it and `thread` outlive what is made
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
