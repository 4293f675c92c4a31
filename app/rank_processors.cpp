#include "app/rank_processors.hpp"

#include "app/local_device.hpp"
#include "device/cuda.hpp"

namespace ziggurat::app {

RankProcessors::RankProcessors(const spec::RunSpec& run, const comm::Context& world)
    : waits_{world.waits()}, processors_{device::Processors::of_host(run.parallel.threads)} {
    const int threads = run.parallel.threads;
    if (run.tiers.device == spec::DeviceKind::host) {
        runtime_.emplace(threads);
        return;
    }
    thread_ = std::make_unique<device::HostThread>(&waits_);
    runtime_.emplace(threads, *thread_);
    if constexpr (device::has_cuda) {
        const auto mine = find_local_device(world, device::discover());
        processors_ = {device::cuda::make_device(mine.index, &waits_),
                       device::Stream{threads, thread_.get()}};
    }
}

}  // namespace ziggurat::app
