#include "app/deck/job_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "app/start/job_start.hpp"
#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/round_up.hpp"
#include "base/text/message.hpp"
#include "deck/load.hpp"
#include "device/discovery.hpp"

namespace ziggurat::app {
namespace {

/// Maximum number of sizes that are tried for a job that cannot use all ranks, besides the smallest.
constexpr int max_tries = 16;

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

/// Returns overrides with which the deck uses all ranks of `load`.
///
/// Empty if a larger batch is not enough.
std::string overrides_for_all(const JobDeck& job, const spec::RunSpec& fewer, const deck::LoadOptions& load) {
    const auto works = [&](const std::vector<std::string>& more) {
        auto overrides = job.overrides;
        overrides.insert(overrides.end(), more.begin(), more.end());
        return deck::load(job.deck, overrides, load).ok();
    };
    const auto groups = load.ranks / (fewer.parallel.ranks / fewer.parallel.sequence_groups());
    for (const std::int64_t micro_batch : {fewer.train.micro_batch, std::int64_t{1}}) {
        const auto each = groups * micro_batch;
        const std::vector<std::string> more{
            fmt::format("train.micro_batch={}", micro_batch),
            fmt::format("train.global_batch={}", divide_up(fewer.train.global_batch, each) * each)};
        if (each > 0 && works(more)) {
            return more.front() + " " + more.back();
        }
    }
    return "";
}

/// Warns that a job leaves devices of its nodes idle, and names values with which it uses all of them.
void warn_of_idle(const JobDeck& job,
                  const spec::RunSpec& fewer,
                  int nodes,
                  int tasks,
                  int all,
                  const deck::LoadOptions& load) {
    const char* what = load.machine && !load.machine->has_device ? "processes" : "devices";
    const auto better = overrides_for_all(job, fewer, load);
    std::fputs(
        (message(Severity::warning,
                 fmt::format(
                     "the deck uses {} of {} {} ({} ranks do not fit its degrees, train.global_batch {} and "
                     "train.micro_batch {}). {}",
                     nodes * tasks, nodes * all, what, nodes * all, fewer.train.global_batch,
                     fewer.train.micro_batch,
                     better.empty() ? "Change train.global_batch or the degrees of parallel."
                                    : "Use all of them with " + better + ".")) +
         "\n")
            .c_str(),
        stderr);
}

}  // namespace

int choose_tasks(
    const JobDeck& job, int nodes, int all, const deck::LoadOptions& options, const OfTasks& of_job) {
    const int wanted = divide_up(fewest_ranks(job, options), nodes);
    if (all == 0) {
        return wanted;
    }
    const auto load = [&](int tasks) { return deck::load(job.deck, job.overrides, of_job(tasks)); };
    if (wanted >= all || load(all).ok()) {
        return all;
    }
    int tries = 0;
    for (int tasks = all / wanted * wanted; tasks >= wanted;
         tasks = ++tries < max_tries || tasks == wanted ? tasks - wanted : wanted) {
        if (const auto fewer = load(tasks); fewer.ok()) {
            warn_of_idle(job, fewer.run, nodes, tasks, all, of_job(all));
            return tasks;
        }
    }
    return all;
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
