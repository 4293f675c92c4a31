#include "app/start/rank_processors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/bench/local_device.hpp"
#include "comm/control.hpp"
#include "device/cuda.hpp"
#include "device/near_cpus.hpp"

namespace ziggurat::app {
namespace {

/// Returns notes on ranks that are not bound to the socket of their GPU; valid on rank 0.
/// Collective: over `world`
std::vector<std::string> binding_notes(const comm::Context& world, device::Binding binding, int threads) {
    const auto all = comm::gather(world, std::to_string(static_cast<int>(binding)));
    const auto count = [&](device::Binding wanted) {
        return std::ranges::count(all, std::to_string(static_cast<int>(wanted)));
    };
    std::vector<std::string> notes;
    if (const auto far = count(device::Binding::far); far > 0) {
        notes.push_back(fmt::format(
            "{} of {} ranks run on CPUs of another socket than their GPU: the launcher bound them. Copies "
            "between host and GPU cross the sockets. Start with mpirun --bind-to none, or srun "
            "--cpu-bind=none: each rank then binds itself next to its GPU",
            far, all.size()));
    }
    if (const auto few = count(device::Binding::too_few); few > 0) {
        notes.push_back(fmt::format(
            "{} of {} ranks are not bound to the socket of their GPU: fewer CPUs than parallel.threads ({}) "
            "are usable there. Lower parallel.threads, or start with mpirun --bind-to none",
            few, all.size(), threads));
    }
    return notes;
}

}  // namespace

RankProcessors::RankProcessors(const spec::RunSpec& run, const comm::Context& world)
    : waits_{world.waits()}, devices_{device::RankDevices::of_host(run.parallel.threads)} {
    const int threads = run.parallel.threads;
    if (run.tiers.device == spec::DeviceKind::host) {
        runtime_.emplace(threads);
        return;
    }
    device::RankDevice mine;
    if constexpr (device::has_cuda) {
        const auto devices = device::discover();
        mine = find_local_device(world, devices);
        // Before any thread starts and any memory is touched, so that both stay on the GPU's socket.
        const std::size_t location = mine.index;
        const auto binding = location < devices.pci_ids.size()
                                 ? device::bind_near(devices.pci_ids[location], threads)
                                 : device::Binding::unknown;
        notes_ = binding_notes(world, binding, threads);
    }
    thread_ = std::make_unique<device::HostThread>(&waits_);
    runtime_.emplace(threads, *thread_);
    if constexpr (device::has_cuda) {
        devices_ = {device::cuda::make_device(mine.index, &waits_), device::Stream{threads, thread_.get()}};
    }
}

}  // namespace ziggurat::app
