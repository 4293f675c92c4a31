#include "train/trainer.hpp"

#include <optional>
#include <string>

#include "base/failure.hpp"
#include "base/stop_check.hpp"
#include "base/text/message.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"
#include "comm/throw_on_all_ranks.hpp"
#include "comm/watch/liveness.hpp"
#include "data/corpus.hpp"
#include "train/control/work_stop.hpp"
#include "train/report/exit_hook.hpp"
#include "train/report/reporter.hpp"
#include "train/report/run_header.hpp"
#include "train/report/shared_folder.hpp"
#include "train/sample_prompt.hpp"
#include "train/save/data_guard.hpp"
#include "train/step/same_program.hpp"
#include "train/training_loop.hpp"

namespace ziggurat::train {

int train(const spec::RunSpec& spec,
          const RunContext& context_of_program,
          const comm::Context& world,
          const device::RankDevices& devices,
          StopSignals& signals,
          Console& console) {
    RunContext context = context_of_program;
    Reporter reporter{spec, context, world, console};
    const ExitHook leaving{world.liveness(), reporter};
    comm::barrier(world);  // from here on, the run directory belongs to this job
    if (auto* liveness = world.liveness()) {
        liveness->keep_errors_in(error_file_of(spec.run.dir, world.rank()));
    }
    expect_same_program(context.version, world);
    const auto nodes = comm::find_nodes(world.group(), spec.debug.nodes);
    expect_folder_on_all_nodes(spec, nodes, world, reporter);
    reporter.busy("reads the training data");
    const bool is_first = world.rank() == 0;
    const auto limit = find_time_limit(spec, context.begin_ns, context.stop_at_ns, context.time_limit_source);
    WorkStop stop{signals};
    if (limit) {
        stop.end_at(*limit);
    }
    const auto reading = stop.check_of("reads the training data");
    const auto corpus = open_corpus(spec, world, context.open_source, reading);
    const auto sample = open_sample_prompt(spec, world);
    DataGuard data{corpus, nodes, world, reporter, reading};
    comm::stop_on_all_ranks(world, [&] {
        if (is_first) {
            corpus.check_tokens(data::Corpus::checked_tokens, reading);
        }
    });
    print_run_header(spec, context, corpus, limit, world, console);
    Requests requests{
        signals,
        reporter.fd_path(),
        is_first ? limit : std::nullopt,
        {.saves = spec.checkpoint.every.has_value(), .validates = corpus.num_validation_tokens() > 0}};
    for (const auto& note : requests.notes()) {
        reporter.print_line(message(Severity::note, reporter.with_display_path(note)));
    }
    try {
        spec::RunSpec again = spec;  // after a rollback: the run has its own checkpoints by then
        again.run.resume = spec::Resume::automatic;
        RollBackLimit limit_of_backs;
        const auto loading =
            stop.check_of("loads the weights", "No step was done. Run the same command again.");
        for (std::optional<RollBack> back;;) {
            reporter.busy(spec.tiers.device == spec::DeviceKind::cuda
                              ? "compiles the step, reserves memory and pins the host's for the GPUs"
                              : "compiles the step and reserves memory");
            TrainingLoop loop{{.spec = back ? again : spec,
                               .world = world,
                               .devices = devices,
                               .corpus = corpus,
                               .sample = sample,
                               .data = data,
                               .context = context,
                               .requests = requests,
                               .reporter = reporter,
                               .stop = loading,
                               .back = back}};
            const auto end = loop.run();
            if (!end.back) {
                return end.exit_code;
            }
            back = end.back;
            limit_of_backs.note(*back);
        }
    } catch (const Stopped&) {
        throw;
    } catch (...) {
        const Failure failure = current_failure();
        reporter.break_down(failure.problem, failure.exit_code, true);
        throw;
    }
}

}  // namespace ziggurat::train
