#include "app/start/job_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "app/bench/kept_peak.hpp"
#include "app/bench/local_device.hpp"
#include "app/bench/measure_rates.hpp"
#include "app/start/available_cores.hpp"
#include "app/start/token_sources.hpp"
#include "app/start/tokenizers.hpp"
#include "base/text/message.hpp"
#include "base/text/units.hpp"
#include "comm/built_with.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"
#include "comm/throw_on_all_ranks.hpp"
#include "comm/watch/liveness.hpp"
#include "plan/layouts/choose_layout.hpp"
#include "plan/search/choose_accumulation.hpp"
#include "plan/search/choose_depths.hpp"
#include "plan/search/choose_leases.hpp"
#include "plan/search/choose_tensor_overlap.hpp"
#include "plan/search/fastest_homes.hpp"
#include "spec/depths.hpp"
#include "train/step/gather_placements.hpp"
#include "train/step/rank_threads.hpp"

namespace ziggurat::app {
namespace {

/// Returns host, cores and threads of this rank.
train::RankPlacement my_place() {
    return {.host = comm::machine_name(),
            .cores = train::usable_cores(),
            .threads = threads_asked(),
            .core_limit = train::control_group_core_limit(),
            .job_cores = cores_of_job()};
}

/// Returns the number of threads that every rank can have.
int fewest_threads(const std::vector<train::RankPlacement>& positions) {
    int fewest = std::numeric_limits<int>::max();
    for (std::size_t rank = 0; rank < positions.size(); ++rank) {
        const int asked = positions[rank].threads;
        const int share =
            train::share_of_cores(positions, static_cast<int>(rank), positions[rank].core_limit);
        fewest = std::min(fewest, asked > 0 ? asked : share);
    }
    return fewest;
}

RatesToMeasure what_to_measure(const spec::RunSpec& run,
                               const spec::MachineSpec& machine,
                               spec::AutoDepths open) {
    RatesToMeasure wanted{.type = run.precision.compute, .threads = run.parallel.threads};
    if (plan::depends_on_unknown_disks(run, machine, open)) {
        wanted.folders = run.tiers.nvme_paths;
        wanted.is_near = run.tiers.nvme_near;
        wanted.block_bytes = run.tiers.nvme_block_bytes;
        wanted.queue_depth = run.tiers.nvme_queue_depth;
    }
    return wanted;
}

/// Returns the function that chooses depths on rank 0 by the rates of the slowest rank.
///
/// It measures on all ranks: the others take part in receive_deck().
auto depths_by_measuring(const comm::Context& world) {
    return [&world](const spec::RunSpec& run, const spec::MachineSpec& machine, spec::AutoDepths open) {
        const auto wanted = agree_to_measure(world, what_to_measure(run, machine, open));
        const auto measured = with_rates(machine, measure_rates(world, *wanted), run.parallel.ranks_per_node);
        auto found = plan::choose_depths(run, measured, open);
        if (measured.nvme_read_rate != machine.nvme_read_rate) {
            found.ahead_reason(open) +=
                fmt::format("; a node's disks gave {}B/s just now", format_count(measured.nvme_read_rate));
        }
        return found;
    };
}

/// Receives the effective deck from rank 0. Until then, measures rates when rank 0 requests it.
std::string receive_deck(const comm::Context& world) {
    while (const auto wanted = agree_to_measure(world, std::nullopt)) {
        measure_rates(world, *wanted);
    }
    return comm::broadcast(world, "");
}

/// Returns the highest exit code of all ranks.
int highest(const comm::Context& world, int exit_code) {
    std::array<std::int64_t, 1> code{exit_code};
    comm::all_reduce_max(world, code);
    return static_cast<int>(code[0]);
}

}  // namespace

deck::LoadOptions find_launch(const comm::Context& world) {
    const comm::NodeTopology nodes = comm::find_nodes(world.group(), 0);
    const auto positions = train::gather_placements(world, my_place());
    std::array<std::int64_t, 3> identical{};  // threads, ranks per node and per device
    if (world.rank() == 0) {
        identical = {fewest_threads(positions), nodes.ranks_on_node, 0};
    }
    identical[2] = find_local_device(world, device::discover()).ranks_on_device;
    comm::all_reduce_max(world, identical);
    return {.ranks = world.size(),
            .ranks_per_node = static_cast<int>(identical[1]),
            .ranks_per_device = static_cast<int>(identical[2]),
            .has_nccl = comm::has_nccl,
            .node_of_rank = nodes.node_of,
            .threads = static_cast<int>(identical[0]),
            .machine = std::nullopt,
            .job_end = deck::find_own_job_end,
            .choose_layout =
                [](const auto& run, const auto& machine, const auto& space, const auto& rules) {
                    return plan::choose_layout(run, with_kept_peak(machine, run, kept_peaks_here()), space,
                                               rules);
                },
            .choose_homes = [](const auto& run,
                               const auto& machine) { return plan::choose_fastest_homes(run, machine); },
            .choose_leases = [](const auto& run,
                                const auto& machine) { return plan::holds_leases_of_a_step(run, machine); },
            .choose_accumulation =
                [](const auto& run, const auto& machine) { return plan::choose_accumulation(run, machine); },
            .choose_tensor_overlap = plan::choose_tensor_overlap};
}

int threads_asked() {
    for (const char* name : {"OMP_NUM_THREADS", "KOKKOS_NUM_THREADS"}) {
        if (const char* asked = std::getenv(name)) {
            return std::max(0, std::atoi(asked));
        }
    }
    return 0;
}

int threads_if_started(int ranks) {
    const int asked = threads_asked();
    return asked > 0 || ranks <= 0 ? asked : std::max(1, train::granted_cores() / ranks);
}

std::optional<deck::LoadedDeck> load_on_all_ranks(const JobDeck& job,
                                                  const comm::Context& world,
                                                  train::WorkStop& stop,
                                                  std::int64_t begin_ns,
                                                  SourceSizes& sizes,
                                                  int& exit_code) {
    deck::LoadOptions options = find_launch(world);
    std::optional<deck::LoadedDeck> loaded;
    std::string effective, stopped;
    if (world.rank() == 0) {
        options.choose_depths = depths_by_measuring(world);
        options.read_tokenizer = read_tokenizer;  // other ranks get its facts from the effective deck
        options.has_time_limit = [&](double seconds, const std::string& source) {
            stop.end_at(begin_ns + static_cast<std::int64_t>(seconds * 1e9), source);
        };
        // Other ranks read the sources when they open the training data.
        read_sources(options, stop.check_of("reads the sources of the deck"));
        options.read_source = [&sizes, read = options.read_source](const auto& run, const auto& source,
                                                                   const auto& key) {
            auto facts = read(run, source, key);
            sizes.set(key, facts);
            return facts;
        };
        try {
            loaded = deck::load(job.deck, job.overrides, options);
            if (loaded->found.errors() + loaded->found.warnings() > 0 || loaded->reports_of_record) {
                std::fputs(loaded->found.print().c_str(), stderr);
            }
        } catch (const Stopped& at_source) {
            stopped = at_source.what();
        }
        agree_to_measure(world, std::nullopt);
        const bool is_valid = loaded && loaded->ok();
        effective = comm::broadcast(world, is_valid ? loaded->effective_for_other_folder : "");
    } else {
        effective = receive_deck(world);
    }
    comm::stop_on_all_ranks(world, [&] {
        if (!stopped.empty()) {
            throw Stopped{stopped};
        }
    });
    exit_code = highest(world, loaded ? loaded->found.exit_code() : 0);
    if (exit_code != 0) {
        return std::nullopt;
    }
    if (world.rank() != 0) {
        loaded = deck::load_text(effective, "the effective deck", {}, options);
    }
    const auto problem = comm::first_text(
        world, loaded->ok() ? ""
                            : fmt::format("rank {} ({}): rank 0's deck cannot be run here\n{}", world.rank(),
                                          comm::machine_name(), loaded->found.print()));
    exit_code = highest(world, loaded->found.exit_code());
    if (exit_code == 0) {
        world.liveness()->set_hang_timeout(loaded->run.run.hang_timeout_seconds);
        // The deck that other ranks have loaded contains secrets, which only rank 0's environment may have.
        loaded->effective = comm::broadcast(world, loaded->effective);
        return loaded;
    }
    if (world.rank() == 0) {
        std::fputs(message(Severity::error, problem).c_str(), stderr);
    }
    return std::nullopt;
}

}  // namespace ziggurat::app
