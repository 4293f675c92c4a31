#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/deck/deck_options.hpp"
#include "app/deck/job_size.hpp"
#include "app/deck/planning_progress.hpp"
#include "app/deck/remedy_search.hpp"
#include "app/output/output_style.hpp"
#include "app/start/tokenizers.hpp"
#include "app/sweep/sweep_grid.hpp"
#include "app/sweep/sweep_record.hpp"
#include "app/train_sbatch.hpp"
#include "base/error.hpp"
#include "base/round_up.hpp"
#include "comm/built_with.hpp"
#include "deck/files/shipped_files.hpp"
#include "deck/load.hpp"
#include "deck/machine/machine.hpp"
#include "deck/slurm/batch_script.hpp"
#include "plan/report/memory_report.hpp"

namespace ziggurat::app {
namespace {

constexpr int does_not_fit = static_cast<int>(ErrorKind::resource);

/// Returns the GPUs of a node, from the command line or the machine file; empty if neither gives them.
std::optional<int> known_gpus(const SlurmOptions& options, const deck::LoadOptions& load) {
    const bool has_them = load.machine && load.machine->has_device;
    return options.gpus_per_node ? options.gpus_per_node
           : has_them            ? std::optional{load.machine->ranks_per_node}
                                 : std::nullopt;
}

/// Returns the load options of a job with `tasks` ranks per node.
deck::LoadOptions of_job(const SlurmOptions& options, const deck::LoadOptions& load, int tasks) {
    auto job = of_nodes(load, options.nodes, tasks);
    job.ranks_per_device = divide_up(tasks, known_gpus(options, load).value_or(tasks));
    return job;
}

int tasks_of_a_node(const SlurmOptions& options, const deck::LoadOptions& load) {
    return options.tasks_per_node
               ? *options.tasks_per_node
               : choose_tasks(options, options.nodes, load.machine ? load.machine->ranks_per_node : 0, load,
                              [&](int tasks) { return of_job(options, load, tasks); });
}

/// Adds errors for settings with which a requeued job would start from scratch.
void expect_to_go_on(deck::LoadedDeck& loaded) {
    const char* reason = "each start of a requeued job would begin from scratch";
    if (!loaded.run.checkpoint.every) {
        loaded.found.error({"checkpoint.every", 0, 0}, "is 'none'", reason,
                           "Leave it out, or set it, for instance to 30min.");
    }
    if (loaded.run.run.resume == spec::Resume::never) {
        loaded.found.error({"run.resume", 0, 0}, "is 'never'", reason, "Leave it out, or set it to auto.");
    }
}

deck::BatchJob job_of(const SlurmOptions& options,
                      const deck::LoadedDeck& loaded,
                      const deck::LoadOptions& load) {
    const auto& run = loaded.run;
    const int tasks = load.ranks_per_node;
    const bool is_on_gpus = run.tiers.device == spec::DeviceKind::cuda;
    if (!is_on_gpus && options.gpus_per_node) {
        throw Error{
            ErrorKind::deck,
            "--gpus-per-node: the deck computes on cores. Leave it out, or name a --machine with GPUs."};
    }
    return {.program = deck::this_program(),
            .deck = deck::file_or_shipped(options.deck),
            .overrides = options.overrides,
            .name = options.job_name.empty() ? run.run.name : options.job_name,
            .nodes = options.nodes,
            .tasks_per_node = tasks,
            .time = options.time,
            .account = options.account,
            .partition = options.partition,
            .cpus_per_task = load.machine ? run.parallel.threads : 0,
            .gpus_per_node = is_on_gpus ? std::min(tasks, known_gpus(options, load).value_or(tasks)) : 0};
}

/// Returns the sweep of a job array, with an absolute folder.
Sweep sweep_of(const SlurmOptions& options) {
    const auto folder = std::filesystem::absolute(options.sweep).lexically_normal().string();
    return begin_sweep(options.deck, options.overrides, folder);
}

/// Returns the overrides of each run of the job.
std::vector<std::vector<std::string>> overrides_of_runs(const SlurmOptions& options) {
    if (options.sweep.empty()) {
        return {options.overrides};
    }
    const auto sweep = sweep_of(options);
    const auto grid = sweep_grid(options.overrides);
    std::vector<std::vector<std::string>> made;
    for (const auto& run : grid.runs) {
        made.push_back(words_of_run(sweep, grid, run));
    }
    return made;
}

/// Loads the deck of a run and plans its memory. Prints problems and sets `exit_code` if there are any.
deck::LoadedDeck checked(const SlurmOptions& options,
                         const std::vector<std::string>& overrides,
                         const deck::LoadOptions& load,
                         Progress& progress,
                         int& exit_code) {
    auto loaded = deck::load(options.deck, overrides, load);
    if (loaded.ok()) {
        expect_to_go_on(loaded);
    }
    if (loaded.found.errors() + loaded.found.warnings() + loaded.found.notes() > 0) {
        std::fputs(loaded.found.print().c_str(), stderr);
    }
    if (!loaded.ok()) {
        exit_code = loaded.found.exit_code();
        return loaded;
    }
    const PlannedJob job{{options.deck, overrides}, {}, {}, options.machine};
    const PlanningProgress watched{progress};
    const auto memory = plan::memory_report(loaded.run, loaded.machine, {}, watched.watch(), "",
                                            remedy_search(job, load, loaded));
    if (!memory.fits) {
        std::fputs(memory.table.c_str(), stderr);
        exit_code = does_not_fit;
    }
    return loaded;
}

}  // namespace

int slurm(const SlurmOptions& options) {
    Progress progress{show_progress()};
    deck::LoadOptions load{.has_nccl = comm::has_nccl || !options.machine.empty(),
                           .needs_data = options.machine.empty(),
                           .read_tokenizer = read_tokenizer_once()};
    if (!options.machine.empty()) {
        deck::Diagnostics found;
        load.machine = deck::load_called_machine(options.machine, found);
        if (!load.machine) {
            std::fputs(found.print().c_str(), stderr);
            return found.exit_code();
        }
    }
    const auto runs = overrides_of_runs(options);
    auto first = options;
    first.overrides = runs.front();
    load = of_job(first, load, tasks_of_a_node(first, load));
    read_and_choose_as_train(load, progress);
    std::optional<deck::BatchJob> job;
    for (const auto& overrides : runs) {
        int exit_code = 0;
        const auto loaded = checked(options, overrides, load, progress, exit_code);
        if (exit_code != 0) {
            return exit_code;
        }
        job = job ? job : job_of(first, loaded, load);
    }
    if (!options.sweep.empty()) {
        const auto sweep = sweep_of(options);
        job->array = runs;
        job->name =
            options.job_name.empty() ? std::filesystem::path{sweep.folder}.filename().string() : job->name;
        write_sweep(sweep);
    }
    std::fputs(deck::batch_script(train_sbatch, *job).c_str(), stdout);
    return 0;
}

}  // namespace ziggurat::app
