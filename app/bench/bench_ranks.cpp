#include "app/bench/bench_ranks.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "app/output/output_style.hpp"
#include "app/start/job_start.hpp"
#include "base/clock.hpp"
#include "comm/built_with.hpp"
#include "comm/control.hpp"
#include "comm/throw_on_all_ranks.hpp"
#include "comm/watch/liveness.hpp"
#include "device/cuda.hpp"
#include "device/discovery.hpp"
#include "train/on_ranks.hpp"
#include "train/step/gather_placements.hpp"
#include "train/step/rank_threads.hpp"

namespace ziggurat::app {
namespace {

/// Returns the number of cores that the ranks of rank 0's node may use together; valid on rank 0.
int usable_cores_of_node(const comm::Context& world) {
    const auto placements =
        train::gather_placements(world, {.host = comm::machine_name(), .cores = train::usable_cores()});
    std::set<int> cores;
    for (const auto& placement : placements) {
        if (placement.host == placements.front().host) {
            cores.insert(placement.cores.begin(), placement.cores.end());
        }
    }
    return static_cast<int>(cores.size());
}

spec::RunSpec launched(const comm::Context& world) {
    const auto found = find_launch(world);
    const bool has_gpus = device::has_cuda && comm::all_agree(world, device::discover().count > 0);
    spec::RunSpec run;
    run.parallel.ranks = run.parallel.data = world.size();
    run.parallel.ranks_per_node = found.ranks_per_node;
    run.parallel.threads = found.threads;
    run.sharding.sum_group = world.size();
    if (has_gpus) {
        run.tiers.device = spec::DeviceKind::cuda;
        run.parallel.transport =
            comm::has_nccl && found.ranks_per_device == 1 ? spec::Transport::nccl : spec::Transport::staged;
    }
    return run;
}

}  // namespace

BenchRanks::BenchRanks(const comm::Context& world, const std::string& machine_file)
    : world_{world}, nodes_{comm::find_nodes(world.group(), 0)}, progress_{show_progress(world.rank() == 0)} {
    comm::throw_on_all_ranks(world, "cannot read the machine file", [&] {
        if (is_first()) {
            file_.emplace(machine_file);
            machine_ = file_->machine();
        }
    });
    cores_of_node_ = usable_cores_of_node(world);
    launch_ = launched(world);
    processors_.emplace(launch_, world_);
}

void BenchRanks::begin(const std::string& what, const std::string& unit, std::int64_t count) {
    if (is_first()) {
        progress_.begin(what, unit, count);
    }
    comm::barrier(world_);
    world_.liveness()->begin_activity("measuring the machine", monotonic_ns());
}

std::vector<double> BenchRanks::slowest(std::vector<double> seconds) const {
    comm::all_reduce_max(world_, seconds);
    return seconds;
}

void BenchRanks::print(std::string_view text) const {
    if (is_first()) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }
}

void BenchRanks::keep() {
    comm::throw_on_all_ranks(world_, "cannot write the machine file", [&] {
        if (is_first()) {
            machine_.ranks_per_node = nodes_.ranks_on_node;
            machine_.cores_per_node = std::max(machine_.cores_per_node, cores_of_node_);
            machine_.threads_per_rank = launch_.parallel.threads;
            file_->keep(machine_);
        }
    });
}

int measure_on_ranks(const std::string& machine_file, const std::function<void(BenchRanks&)>& measure) {
    return train::on_ranks([&](const comm::Context& world) {
        BenchRanks ranks{world, machine_file};
        measure(ranks);
        ranks.keep();
        return 0;
    });
}

}  // namespace ziggurat::app
