/// Start of `ziggurat train`, in order.
///
/// 1. Load: rank 0 reads the deck and chooses what it leaves open; all ranks get the result
///    (load_on_all_ranks).
/// 2. Plan: a run that does not fit into its budgets is refused (is_to_fit).
/// 3. Processors: cores, devices and their peak (core_notes, RankProcessors, find_peak).
/// 4. train::train: data, then for each start or rollback a train::TrainingLoop. Its constructor builds the
///    programs, reserves memory (train::Assembly) and loads weights or a checkpoint (train::resume).
/// 5. TrainingLoop::run: the steps.
#include <unistd.h>

#include <optional>
#include <string>

#include "app/bench/measure_rates.hpp"
#include "app/bench/measured_with.hpp"
#include "app/bench/peak_cache.hpp"
#include "app/checkpoint/trained_model.hpp"
#include "app/command_line/version.hpp"
#include "app/output/output_style.hpp"
#include "app/start/available_cores.hpp"
#include "app/start/job_start.hpp"
#include "app/start/rank_processors.hpp"
#include "app/start/require_fit.hpp"
#include "app/start/step_plan.hpp"
#include "app/start/train_options.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/watch/liveness.hpp"
#include "deck/machine/job_deadline.hpp"
#include "train/console/console.hpp"
#include "train/control/launcher_grace.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/time_limit.hpp"
#include "train/control/work_stop.hpp"
#include "train/on_ranks.hpp"
#include "train/trainer.hpp"

namespace ziggurat::app {
namespace {

/// Returns the stop time that the environment sets, on the monotonic clock.
std::optional<std::int64_t> find_end_ns() {
    const auto at = deck::find_stop_at(deck::process_environment);
    return at ? std::optional{monotonic_ns() + static_cast<std::int64_t>((*at - calendar_seconds()) * 1e9)}
              : std::nullopt;
}

int train_together(const TrainOptions& options,
                   const comm::Context& world,
                   train::StopSignals& signals,
                   std::int64_t begin_ns) {
    int exit_code = 0;
    SourceSizes sizes;
    const auto end_ns = find_end_ns();
    train::WorkStop stop{signals};
    if (end_ns) {
        stop.end_at(*end_ns, train::stop_at_variable);
    }
    const std::optional<deck::LoadedDeck> loaded =
        load_on_all_ranks(options, world, stop, begin_ns, sizes, exit_code);
    if (!loaded) {
        return exit_code;
    }
    if (!is_to_fit(world, loaded->run, loaded->machine, exit_code)) {
        return exit_code;
    }
    const int job_cores = cores_of_job();
    auto notes = core_notes(world, loaded->run.parallel.threads,
                            loaded->sets_threads  ? train::ThreadsBy::request
                            : threads_asked() > 0 ? train::ThreadsBy::environment
                                                  : train::ThreadsBy::share_of_cores);
    world.liveness()->when_launcher_ends([&signals] {
        const auto end = train::launcher_end_of(signals);
        return end ? end->name : std::string{};
    });
    const RankProcessors devices{loaded->run, world};
    notes.insert(notes.end(), devices.notes().begin(), devices.notes().end());
    const PeakCache peaks{deck::process_environment, measured_with()};
    const auto peak =
        find_peak(world, loaded->run, *devices.all().device, spec::peak_of(loaded->machine), peaks);
    train::Console console{world.rank() == 0 ? STDOUT_FILENO : train::Console::quiet, screen_of_output()};
    console.hide(loaded->secrets);
    return train::train(
        loaded->run,
        {.version = version(),
         .libraries = library_versions(),
         .command = options.line,
         .effective_deck = loaded->effective,
         .secrets = loaded->secrets,
         .backup = options.backup,
         .begin_ns = begin_ns,
         .stop_at_ns = end_ns,
         .time_limit_source = loaded->time_limit_source,
         .peak = peak,
         .planned_step = planned_step(world, loaded->run, loaded->machine, peak),
         .keep_peak = [&](double flops_of_rank) { peaks.raise(setup_name(loaded->run), flops_of_rank); },
         .depths = loaded->depths,
         .samples = sample_lines(sizes, loaded->run),
         .job_cores = job_cores,
         .notes = notes},
        world, devices.all(), signals, console);
}

}  // namespace

int train(const TrainOptions& options) {
    const std::int64_t begin_ns = monotonic_ns();
    // Before MPI: from now on, if the launcher ends the job, the program still reports the reason.
    train::StopSignals signals;
    return train::on_ranks(
        [&](const comm::Context& world) { return train_together(options, world, signals, begin_ns); },
        deck::read_hang_timeout(options.deck, options.overrides, deck::process_environment)
            .value_or(comm::Liveness::first_timeout_seconds));
}

}  // namespace ziggurat::app
