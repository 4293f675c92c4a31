#include "app/deck/job_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "app/start/job_start.hpp"
#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/round_up.hpp"
#include "deck/load.hpp"
#include "device/discovery.hpp"

namespace ziggurat::app {
namespace {

/// Returns `options` for reading the degrees only: no automatic choices, and no data is read.
deck::LoadOptions for_degrees(deck::LoadOptions options) {
    options.job_end = {};
    options.read_source = {};
    options.find_train_validation_overlap = {};
    options.choose_layout = {};
    options.choose_homes = {};
    options.choose_depths = {};
    options.choose_leases = {};
    options.choose_accumulation = {};
    options.choose_tensor_overlap = {};
    return options;
}

/// Returns the smallest number of ranks that the degrees of the deck allow.
int fewest_ranks(const JobDeck& job, const deck::LoadOptions& options) {
    return std::max(1, deck::load(job.deck, job.overrides, options).run.parallel.ranks);
}

/// Returns the ranks per node of the machine file, else the GPUs of this node; 0 if both are unknown.
int ranks_of_a_node(const deck::LoadOptions& options) {
    return options.machine ? options.machine->ranks_per_node : device::discover().count;
}

}  // namespace

int choose_tasks(
    const JobDeck& job, int nodes, int all, const deck::LoadOptions& options, const OfTasks& of_job) {
    const int wanted = divide_up(fewest_ranks(job, options), nodes);
    if (all == 0) {
        return wanted;
    }
    const auto is_right = [&](int tasks) { return deck::load(job.deck, job.overrides, of_job(tasks)).ok(); };
    return wanted < all && !is_right(all) && is_right(wanted) ? wanted : all;
}

deck::LoadOptions of_nodes(deck::LoadOptions options, int nodes, int tasks) {
    if (tasks > max_ranks / nodes) {
        throw Error{ErrorKind::deck,
                    fmt::format("--nodes: {} nodes x {} ranks exceed {} ranks. Ask for fewer.", nodes, tasks,
                                max_ranks)};
    }
    options.ranks = nodes * tasks;
    options.ranks_per_node = tasks;
    options.threads = options.machine ? 0 : threads_if_started(tasks);
    return options;
}

deck::LoadOptions sized(const PlannedJob& job, deck::LoadOptions options) {
    const auto ranks = job.ranks;
    const auto nodes = job.nodes;
    if (ranks && nodes) {
        ZG_EXPECTS(*ranks % *nodes == 0);
        return of_nodes(std::move(options), *nodes, *ranks / *nodes);
    }
    if (ranks) {
        options.ranks = *ranks;
        options.threads = options.machine ? 0 : threads_if_started(*ranks);
        return options;
    }
    const int all = ranks_of_a_node(options);
    if (!nodes && all == 0) {
        options.threads = options.machine ? 0 : threads_if_started(0);
        return options;
    }
    const auto plain = for_degrees(options);
    const int count = nodes ? *nodes : divide_up(fewest_ranks(job, plain), all);
    const int tasks =
        choose_tasks(job, count, all, plain, [&](int some) { return of_nodes(plain, count, some); });
    return of_nodes(std::move(options), count, tasks);
}

}  // namespace ziggurat::app
