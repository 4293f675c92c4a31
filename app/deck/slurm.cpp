#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "app/deck/deck_options.hpp"
#include "app/deck/job_size.hpp"
#include "app/deck/planning_progress.hpp"
#include "app/output/output_style.hpp"
#include "app/start/token_sources.hpp"
#include "app/start/tokenizers.hpp"
#include "app/train_sbatch.hpp"
#include "base/error.hpp"
#include "base/round_up.hpp"
#include "comm/built_with.hpp"
#include "deck/files/shipped_files.hpp"
#include "deck/load.hpp"
#include "deck/machine/machine.hpp"
#include "deck/slurm/batch_script.hpp"
#include "plan/report/memory_report.hpp"
#include "plan/search/choose_tensor_overlap.hpp"

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
    load = of_job(options, load, tasks_of_a_node(options, load));
    load.read_source = read_source;
    load.find_train_validation_overlap = find_train_validation_overlap;
    load.choose_layout = choose_layout_with_progress(progress);
    load.choose_homes = choose_homes_with_progress(progress);
    load.choose_depths = choose_depths_with_progress(progress);
    load.choose_leases = choose_leases_with_progress(progress);
    load.choose_accumulation = choose_accumulation_with_progress(progress);
    load.choose_tensor_overlap = plan::choose_tensor_overlap;
    auto loaded = deck::load(options.deck, options.overrides, load);
    if (loaded.ok()) {
        expect_to_go_on(loaded);
    }
    if (loaded.found.errors() + loaded.found.warnings() + loaded.found.notes() > 0) {
        std::fputs(loaded.found.print().c_str(), stderr);
    }
    if (!loaded.ok()) {
        return loaded.found.exit_code();
    }
    const auto job = job_of(options, loaded, load);
    const auto memory =
        plan::memory_report(loaded.run, loaded.machine, {}, PlanningProgress{progress}.watch());
    if (!memory.fits) {
        std::fputs(memory.table.c_str(), stderr);
        return does_not_fit;
    }
    std::fputs(deck::batch_script(train_sbatch, job).c_str(), stdout);
    return 0;
}

}  // namespace ziggurat::app
