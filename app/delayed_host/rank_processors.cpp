#include "app/rank_processors.hpp"

#include <unistd.h>

#include "device/delayed/delayed_host.hpp"

namespace ziggurat::app {

RankProcessors::RankProcessors(int num_threads)
    : thread_{std::make_unique<device::HostThread>()},
      runtime_{num_threads, *thread_},
      processors_{std::make_shared<device::DelayedHost>(
                      device::DelayedHost::Options{.mode = device::DelayedHost::Mode::threads,
                                                   .seed = static_cast<std::uint64_t>(getpid()),
                                                   .num_threads = num_threads,
                                                   .thread = thread_.get()}),
                  device::Stream{num_threads, thread_.get()}} {}

}  // namespace ziggurat::app
