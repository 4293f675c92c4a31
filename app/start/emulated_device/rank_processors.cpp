#include "app/start/rank_processors.hpp"

#include "app/start/emulated_device/emulated_devices.hpp"

namespace ziggurat::app {

RankProcessors::RankProcessors(const spec::RunSpec& run, const comm::Context& world)
    : waits_{world.waits()},
      thread_{std::make_unique<device::HostThread>(&waits_)},
      runtime_{std::in_place, run.parallel.threads, *thread_},
      devices_{emulated_devices(run.parallel.threads, *thread_, waits_)} {}

}  // namespace ziggurat::app
