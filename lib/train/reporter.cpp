#include "train/reporter.hpp"

#include <fmt/format.h>

#include <csignal>
#include <string_view>

#include "base/error.hpp"
#include "comm/watch/liveness.hpp"
#include "train/introduction.hpp"
#include "train/trainer.hpp"

namespace ziggurat::train {
namespace {

/// After Ctrl-C mpirun kills its ranks within a second: what may take longer is said before, by rank 0 for
/// itself.
constexpr double patience_of_launchers = 0.4;

}  // namespace

Reporter::Reporter(const spec::RunSpec& spec,
                   const RunContext& context,
                   const comm::Communicator& world,
                   Console& console)
    : spec_{spec}, world_{world}, console_{console} {
    if (world.rank() != 0) {
        return;
    }
    RunDirectory directory{spec.run.dir};
    console.keep_log(directory.file("run.log"));
    directory.write("deck.effective.yaml", context.effective_deck);
    directory.write("env.txt", environment_text(context.version, context.libraries, context.command));
    for (const auto& note : directory.notes()) {
        console.print("note: " + note);
    }
    Metrics metrics{directory.file("metrics.jsonl"),
                    [&console](std::string_view text) { console.warn(text); }};
    files_.emplace(
        Files{std::move(directory), std::move(metrics), StepLine{spec.train.steps}, Due{spec.logging.every}});
}

void Reporter::start(const RunFacts& facts, const std::string& why_not_shared) {
    if (!files_) {
        return;
    }
    files_->metrics.start(facts);
    if (!why_not_shared.empty()) {
        console_.warn("ranks of one node cannot read each other's memory (" + why_not_shared +
                      "), so what they exchange goes over MPI, several times slower. Start them in one "
                      "container, as one user.");
    }
}

void Reporter::step(const StepReport& report, bool is_last) {
    if (!files_) {
        return;
    }
    step_seconds_ = report.step_s;
    files_->metrics.step(report);
    files_->line.add(report);
    if (report.is_skipped) {
        console_.print(skipped_line(report));
    }
    if (files_->is_line_due.is_due(report.step, report.tokens) || is_last) {
        if (const auto heading = files_->line.heading()) {
            console_.print(*heading);
        }
        console_.print(files_->line.line());
    }
    console_.live(files_->line.live());
}

void Reporter::validation(const ValidationReport& report) {
    if (files_) {
        files_->metrics.validate(report);
        console_.print(validation_line(report, spec_.train.steps));
    }
}

void Reporter::sample(std::int64_t step, const std::string& continuation) {
    if (files_ && spec_.validate.sample) {
        console_.print(sample_block(step, spec_.validate.sample->prompt, continuation,
                                    spec_.validate.sample->temperature));
    }
}

void Reporter::news(StopSignals& signals,
                    std::int64_t steps_done,
                    const std::function<std::string()>& account) {
    if (!files_) {
        return;
    }
    const auto news = signals.news(steps_done + 1, step_seconds_);
    if (news.empty()) {
        return;
    }
    if (auto* liveness = world_.liveness()) {
        liveness->look();  // launchers end a job that has lost a rank by the same signals
    }
    console_.print(news);
    files_->metrics.signal(signal_name(signals.signal()), signals.requested(), steps_done);
    const bool may_be_killed = signals.signal() == SIGTERM || signals.signal() == SIGINT;
    if (may_be_killed && step_seconds_ > patience_of_launchers) {
        console_.print(account());
    }
}

void Reporter::end(const RunEnd& facts, const StopSignals& signals, const std::string& table) {
    if (!files_) {
        return;
    }
    const bool is_finished = facts.step == spec_.train.steps;
    if (!is_finished) {
        files_->metrics.stop(signal_name(signals.signal()), facts.step);
    }
    files_->metrics.end(facts);
    files_->directory.write("perf.txt", table);
    console_.print(table);
    console_.print(is_finished
                       ? fmt::format("finished: {} steps, {}", facts.step, files_->directory.path())
                       : fmt::format("stopped after step {} of {} as asked; exit code {}: run me again",
                                     facts.step, spec_.train.steps, facts.exit_code));
}

}  // namespace ziggurat::train
