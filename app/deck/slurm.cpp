#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "app/commands.hpp"
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

namespace ziggurat::app {
namespace {

constexpr int does_not_fit = static_cast<int>(ErrorKind::resource);

/// Returns the GPUs of a node, from the command line or the machine file; empty if neither gives them.
std::optional<int> known_gpus(const Arguments& arguments, const deck::LoadOptions& options) {
    const bool has_them = options.machine && options.machine->has_device;
    return arguments.gpus_per_node ? arguments.gpus_per_node
           : has_them              ? std::optional{options.machine->ranks_per_node}
                                   : std::nullopt;
}

/// Returns the load options of a job with `tasks` ranks per node.
deck::LoadOptions of_job(const Arguments& arguments, const deck::LoadOptions& options, int tasks) {
    auto job = of_nodes(options, arguments.nodes.value_or(1), tasks);
    job.ranks_per_device = divide_up(tasks, known_gpus(arguments, options).value_or(tasks));
    return job;
}

int tasks_of_a_node(const Arguments& arguments, const deck::LoadOptions& options) {
    return arguments.tasks_per_node
               ? *arguments.tasks_per_node
               : choose_tasks({arguments.deck, arguments.overrides}, arguments.nodes.value_or(1),
                              options.machine ? options.machine->ranks_per_node : 0, options,
                              [&](int tasks) { return of_job(arguments, options, tasks); });
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

deck::BatchJob job_of(const Arguments& arguments,
                      const deck::LoadedDeck& loaded,
                      const deck::LoadOptions& options) {
    const auto& run = loaded.run;
    const int tasks = options.ranks_per_node;
    const bool is_on_gpus = run.tiers.device == spec::DeviceKind::cuda;
    if (!is_on_gpus && arguments.gpus_per_node) {
        throw Error{
            ErrorKind::deck,
            "--gpus-per-node: the deck computes on cores. Leave it out, or name a --machine with GPUs."};
    }
    return {
        .program = deck::this_program(),
        .deck = deck::file_or_shipped(arguments.deck),
        .overrides = arguments.overrides,
        .name = arguments.job_name.empty() ? run.run.name : arguments.job_name,
        .nodes = arguments.nodes.value_or(1),
        .tasks_per_node = tasks,
        .time = arguments.time,
        .account = arguments.account,
        .partition = arguments.partition,
        .cpus_per_task = options.machine ? run.parallel.threads : 0,
        .gpus_per_node = is_on_gpus ? std::min(tasks, known_gpus(arguments, options).value_or(tasks)) : 0};
}

}  // namespace

int slurm(const Arguments& arguments) {
    Progress progress{show_progress()};
    deck::LoadOptions options{.has_nccl = comm::has_nccl || !arguments.machine.empty(),
                              .needs_data = arguments.machine.empty(),
                              .read_tokenizer = read_tokenizer};
    if (!arguments.machine.empty()) {
        deck::Diagnostics found;
        options.machine = deck::load_called_machine(arguments.machine, found);
        if (!options.machine) {
            std::fputs(found.print().c_str(), stderr);
            return found.exit_code();
        }
    }
    options = of_job(arguments, options, tasks_of_a_node(arguments, options));
    options.read_source = read_source;
    options.find_train_validation_overlap = find_train_validation_overlap;
    options.choose_homes = choose_homes_with_progress(progress);
    options.choose_depths = choose_depths_with_progress(progress);
    options.choose_leases = choose_leases_with_progress(progress);
    auto loaded = deck::load(arguments.deck, arguments.overrides, options);
    if (loaded.ok()) {
        expect_to_go_on(loaded);
    }
    if (loaded.found.errors() + loaded.found.warnings() + loaded.found.notes() > 0) {
        std::fputs(loaded.found.print().c_str(), stderr);
    }
    if (!loaded.ok()) {
        return loaded.found.exit_code();
    }
    const auto job = job_of(arguments, loaded, options);
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
