#include "train/report/reporter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/control_group.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/units.hpp"
#include "comm/watch/liveness.hpp"
#include "layout/counts.hpp"
#include "model/binder.hpp"
#include "spec/token_format.hpp"
#include "train/report/checkpoint_line.hpp"
#include "train/report/event_lines.hpp"
#include "train/report/lost_end.hpp"
#include "train/report/run_context.hpp"
#include "train/report/run_header.hpp"

namespace ziggurat::train {
namespace {

/// Step time from which rank 0 prints its own account early after a signal.
///
/// After Ctrl-C, mpirun kills its ranks within a second, so a longer step may not complete.
constexpr double launcher_timeouts = 0.4;
/// Interval between checks that the run directory was not renamed or removed.
constexpr double seconds_between_looks = 1;
/// Maximum wait at the end of a run for the command of run.on_event; the second after a signal.
constexpr double hook_seconds = 60, hook_seconds_after_stop = 5;

}  // namespace

Reporter::Reporter(const spec::RunSpec& spec,
                   const RunContext& context,
                   const comm::Context& world,
                   Console& console)
    : spec_{spec},
      context_{context},
      world_{world},
      console_{console},
      progress_{world.rank() == 0 && console.has_live_line()
                    ? [&console](std::string_view line) { console.live(line); }
                    : ProgressLine::Show{}} {
    if (world.rank() == 0) {
        directory_.emplace(spec.run.dir);
    }
}

void Reporter::open(std::optional<std::int64_t> resumed_step) {
    if (!directory_) {
        return;
    }
    const auto lost = resumed_step && !files_ ? find_lost_end(directory_->path()) : std::nullopt;
    if (resumed_step) {
        directory_->go_on_from(*resumed_step);
    } else {
        const bool refuses = spec_.run.resume == spec::Resume::never && !context_.backup;
        directory_->start_from_scratch(refuses ? EarlierCheckpoints::refuse : EarlierCheckpoints::set_aside);
    }
    write_facts(resumed_step);
    if (!files_ && !directory_->lock_problem().empty()) {
        warn(directory_->lock_problem());
    }
    for (const auto& note : directory_->take_notes()) {
        print_line(message(Severity::note, note));
    }
    files_.emplace(
        directory_->file("metrics.jsonl"),
        [this](Severity severity, std::string_view text) { console_.print(message(severity, text)); },
        spec_.logging.every);
    open_hook();
    if (lost) {
        files_->metrics.lost_end(*lost);
        print_line(message(Severity::note,
                           fmt::format("the previous job ended after step {} without recording its end ({})",
                                       lost->step, lost->reason)));
    }
    for (const auto& text : std::exchange(early_warnings_, {})) {
        files_->metrics.warning(text);
    }
    resumed_step_ = resumed_step;
    if (resumed_step) {
        files_->metrics.resume(*resumed_step);
    }
}

void Reporter::open_hook() {
    if (spec_.run.on_event.empty()) {
        return;
    }
    auto output = open_for_writing(directory_->file(hook_log_name), OpenMode::append);
    if (files_->hook) {
        files_->hook->set_output(std::move(output));
        return;
    }
    const auto path = std::filesystem::absolute(directory_->path()).string();
    files_->hook.emplace(spec_.run.on_event, path, std::move(output),
                         [this](const std::string& text) { print_line(message(Severity::note, text)); });
    files_->metrics.set_hook(&*files_->hook);
}

void Reporter::write_facts(std::optional<std::int64_t> resumed_step) {
    console_.keep_log(directory_->file("run.log"));
    directory_->write("deck.effective.yaml", context_.effective_deck);
    const auto environment =
        environment_text(context_.version, context_.libraries, context_.command, context_.peak);
    if (resumed_step) {
        directory_->append("env.txt",
                           fmt::format("\n--- resumed after step {}\n{}", *resumed_step, environment));
    } else {
        directory_->write("env.txt", environment);
    }
}

void Reporter::renew_folder() {
    if (!files_) {
        return;
    }
    check_run_directory();
    directory_->reopen();
    write_facts({});
    files_->metrics.reopen();
    open_hook();
    if (files_->events) {
        files_->events->reopen();
    }
    warn("recreated '" + directory_->path() + "'; its log and metrics start here");
}

void Reporter::check_run_directory() {
    looked_ns_ = monotonic_ns();
    if (const auto next_message = directory_->next_message(); !next_message.empty()) {
        warn(next_message);
    }
}

void Reporter::finished_before(std::int64_t step, const std::string& ended_reason) {
    if (!directory_) {
        return;
    }
    progress_.end();
    directory_->write_done(step);
    console_.keep_log(directory_->file("run.log"));
    if (!ended_reason.empty()) {
        console_.print(
            fmt::format("finished before: {} ended early, after step {} of {}: {}. Nothing to do. "
                        "Change train.stop_when to continue, or set run.dir to start another run.",
                        directory_->path(), step, end_step_, ended_reason));
        return;
    }
    console_.print(
        spec_.train.tokens > 0
            ? fmt::format("finished before: {} is at step {}, which completes train.tokens, {}. Nothing to "
                          "do. Raise train.tokens to continue, or set run.dir to start another run.",
                          directory_->path(), step, format_grouped(spec_.train.tokens))
            : fmt::format("finished before: {} is at step {}, and train.steps is {}. Nothing to do. Raise "
                          "train.steps to continue, or set run.dir to start another run.",
                          directory_->path(), step, spec_.train.steps));
}

void Reporter::print_line(const std::string& line) {
    if (world_.rank() == 0) {
        console_.print(line);
        keep_warning(line);
    }
}

void Reporter::warn(const std::string& text) {
    print_line(message(Severity::warning, text));
}

void Reporter::keep_warning(const std::string& line) {
    const auto beginning = message(Severity::warning, "");
    if (!line.starts_with(beginning)) {
        return;
    }
    auto text = without_secrets(line.substr(beginning.size()), context_.secrets);
    if (files_) {
        files_->metrics.warning(text);
    } else {
        early_warnings_.push_back(std::move(text));
    }
}

Progress& Reporter::busy(const std::string& what, const std::string& amounts) {
    progress_.begin(what, amounts);
    return progress_;
}

void Reporter::start(const StepFields& fields,
                     const std::string& not_shared_reason,
                     const kernels::AttentionOps& attention,
                     const model::GluOps& glu) {
    if (!files_) {
        return;
    }
    auto facts = run_facts(spec_, context_.version);
    facts.steps = end_step_;
    facts.oom_kills = memory_group().kills;
    facts.name = without_secrets(facts.name, context_.secrets);
    facts.peak = context_.peak;
    facts.planned = context_.planned_step.value_or(PlannedStep{});
    facts.fields = fields;
    facts.attention = kernels::names_of(attention);
    files_->metrics.start(facts);
    if (spec_.logging.tensorboard) {
        files_->events.emplace(
            directory_->path(), resumed_step_, facts,
            [this](Severity severity, std::string_view text) { console_.print(message(severity, text)); });
    }
    files_->line.emplace(StepLineFacts{.total_steps = facts.steps,
                                       .ranks = facts.ranks,
                                       .budget_bytes = facts.budget_bytes,
                                       .can_stall = fields.stalls,
                                       .reports_host = fields.host,
                                       .reports_mfu = facts.peak.flops_of_rank > 0,
                                       .reports_rewards = spec_.data.has_pairs,
                                       .reports_targets = spec::has_conversations(spec_.data),
                                       .reports_time = true});
    if (spec_.tiers.device == spec::DeviceKind::cuda) {
        console_.print("attention is computed by " + kernels::describe(attention) + ".");
        const bool may_be_cudnn =
            attention[kernels::AttentionKernel::tensor_cores] > 0 && !spec_.data.reset_at_document;
        const auto library = may_be_cudnn ? kernels::attention_library() : kernels::AttentionLibrary{};
        if (!library.unusable_reason.empty()) {
            warn(library.unusable_reason + ". Ziggurat's own kernels compute attention, which takes longer.");
        }
        if (spec_.precision.attention_backward == spec::AttentionBackward::fast &&
            attention[kernels::AttentionKernel::cudnn] == 0) {
            warn(
                "precision.attention_backward: fast has no effect (cuDNN computes no attention in this run). "
                "'ziggurat check' names the reason.");
        }
        // 'ziggurat check' warns of other types.
        if (spec_.precision.products == spec::ProductChoice::fused &&
            spec_.precision.compute == spec::DType::bf16) {
            report_glu_products(glu);
        }
    }
    if (!not_shared_reason.empty()) {
        warn("ranks of one node cannot read each other's memory (" + not_shared_reason +
             "), so collectives fall back to MPI and are several times slower. Run the ranks in one "
             "container as one user.");
    }
}

void Reporter::report_glu_products(const model::GluOps& glu) {
    if (glu.num_fused > 0) {
        console_.print(fmt::format("cuDNN computes the gradients of gated units in {} of {} products.",
                                   glu.num_fused, glu.num_ops));
    } else {
        warn(fmt::format("precision.products: fused has no effect ({}).",
                         !glu.refusal.empty()
                             ? glu.refusal
                             : "no product of this run can include the gradient of SwiGLU or GEGLU"));
    }
}

void Reporter::keep_products(const ProductRecord& products) {
    if (!directory_ || products.empty()) {
        return;
    }
    directory_->write(product_record_file, to_json(products));
    for (const auto& [library, choices] : products) {
        const auto others = std::ranges::count_if(choices, [](const auto& one) { return one.second > 0; });
        print_line(fmt::format("{} of {} matrix products do not use the first algorithm of {}.", others,
                               choices.size(), library));
    }
}

void Reporter::keep(std::string_view name, std::string_view content) {
    if (directory_) {
        directory_->write(name, content);
    }
}

void Reporter::step(const StepReport& report, bool is_last) {
    if (!files_) {
        return;
    }
    if (step_seconds_ == 0) {
        progress_.end();
    }
    step_seconds_ = report.step_s;
    files_->metrics.step(report);
    if (files_->events) {
        files_->events->step(report);
    }
    if (seconds_between(looked_ns_, monotonic_ns()) > seconds_between_looks) {
        check_run_directory();
    }
    files_->line->add(report);
    if (report.is_spike) {
        files_->metrics.spike(report);
        print_fitted([&](int columns) { return spike_line(report, columns); });
    } else if (report.is_skipped) {
        print_fitted([&](int columns) { return skipped_line(report, columns); });
    }
    if (files_->is_line_due.is_due(report.step, report.tokens) || is_last) {
        const int columns = console_.columns();
        const auto print = [this](const Lines& lines) { console_.print(lines.shown, lines.logged); };
        if (const auto heading = files_->line->heading(columns)) {
            print(*heading);
            if (const auto explanation = files_->line->explanation(columns)) {
                print(*explanation);
            }
        }
        print(files_->line->line(columns, calendar_seconds()));
    }
    for (const auto& begun : report.begun_epochs) {
        if (is_epoch_printed(begun.epoch)) {
            print_fitted([&](int columns) { return epoch_line(report.step, begun, columns); });
        }
    }
    console_.live(files_->line->live());
}

void Reporter::norms(std::int64_t step, std::span<const UnitNorms> units) {
    if (files_) {
        files_->metrics.norms(step, units);
        if (files_->events) {
            files_->events->norms(step, units);
        }
    }
}

void Reporter::roll_back(std::int64_t step, std::int64_t from, std::int64_t next_sample) {
    if (files_) {
        files_->metrics.roll_back(step, from, next_sample);
        console_.print(
            fmt::format("rolled back from step {} to step {}; continues with sample {}, after the spike",
                        from, step, next_sample));
    }
}

void Reporter::validation(const ValidationReport& report) {
    if (files_) {
        files_->metrics.validate(report);
        if (files_->events) {
            files_->events->validate(report);
        }
        console_.print(validation_line(report, end_step_, console_.columns()),
                       validation_line(report, end_step_).plain());
        if (!report.loss) {
            warn_of_no_targets(report.step);
        }
    }
}

void Reporter::best(const ValidationReport& report) {
    if (files_) {
        files_->metrics.best(report);
    }
}

void Reporter::warn_of_no_targets(std::int64_t step) {
    if (!has_warned_of_no_targets_) {
        print_line(message(
            Severity::warning,
            fmt::format(
                "the validation after step {} has no target tokens, so it has no loss (null in "
                "metrics.jsonl). Check data.reset_at_document, documents of one token, and samples that "
                "data.seq cuts before their first counted token. "
                "This warning appears once.",
                step)));
    }
    has_warned_of_no_targets_ = true;
}

void Reporter::sample(std::int64_t step, const std::string& continuation) {
    if (files_ && spec_.validate.sample) {
        const auto& asked = *spec_.validate.sample;
        print_fitted([&](int columns) {
            const auto text = asked.is_chat ? continuation : asked.prompt + continuation;
            return sample_block(step, asked.prompt, text, asked.temperature, columns);
        });
    }
}

void Reporter::print_fitted(const std::function<std::string(int columns)>& make) {
    StyledText shown;
    shown.add(make(console_.columns()));
    console_.print(shown, make(0));
}

void Reporter::checkpoint_begin(std::int64_t step, std::int64_t bytes, bool is_async) {
    if (files_) {
        files_->metrics.checkpoint_begin(step, bytes, is_async);
    }
}

void Reporter::checkpoint_end(const CheckpointReport& report) {
    if (files_) {
        files_->metrics.checkpoint_end(report);
        unsaved_reason_ = report.is_ok ? std::string{} : std::string{report.where};
        print_fitted([&](int columns) { return checkpoint_line(report, columns); });
    }
}

void Reporter::print_messages(Requests& requests,
                              TrainingPosition now,
                              const std::function<std::string()>& own_table) {
    if (!files_) {
        return;
    }
    if (files_->hook) {
        files_->hook->advance();
    }
    now.step_seconds = step_seconds_;
    while (const auto next_message = requests.next_message(now)) {
        auto* liveness = world_.liveness();
        if (liveness != nullptr && !next_message->signal.empty()) {
            liveness->poll_once();  // a launcher sends the same signals if a rank has died
        }
        console_.print(next_message->text);
        if (next_message->signal.empty()) {
            continue;
        }
        files_->metrics.signal(next_message->signal, next_message->level, now.steps_done);
        const bool may_be_killed = next_message->signal == "SIGTERM" || next_message->signal == "SIGINT";
        if (may_be_killed && step_seconds_ > launcher_timeouts) {
            account(own_table(), !requests.launcher_end());
        }
    }
}

void Reporter::account(const std::string& table, bool is_shown) {
    if (!files_) {
        return;
    }
    try {
        directory_->write("perf.txt", table);
    } catch (const Error& error) {
        warn(error.what());
    }
    if (is_shown) {
        console_.print(table);
    }
}

void Reporter::break_down(std::string_view reason, int exit_code, bool is_own_reason) noexcept {
    progress_.end();
    if (files_ && files_->metrics.break_down(reason, exit_code)) {
        console_.keep_last(reason);
    } else if (world_.rank() != 0 && is_own_reason) {
        report_for_first_rank(spec_.run.dir, exit_code, reason, spec_.run.on_event);
    }
}

void Reporter::end(const RunEnd& facts, const Requests& requests, const std::string& table) {
    if (!files_) {
        return;
    }
    progress_.end();
    report_end(facts, requests, table);
    if (files_->hook) {
        const int level = requests.requested();
        files_->hook->finish(level > 0 ? hook_seconds_after_stop : hook_seconds,
                             [&] { return requests.requested() > level; });
    }
}

void Reporter::report_end(const RunEnd& facts, const Requests& requests, const std::string& table) {
    const bool is_early = !facts.reason.empty();
    const bool has_all = facts.step >= end_step_ && !facts.lacks_validation;
    const bool is_finished = has_all || is_early;
    const bool is_unsaved = facts.exit_code == static_cast<int>(ErrorKind::resource);
    const auto stopped_reason = is_early ? "finished early: " + facts.reason : requests.reason();
    if (!has_all) {
        files_->metrics.stop(stopped_reason, facts.step);
    }
    auto reported = facts;
    reported.reason = is_unsaved ? "not saved: " + unsaved_reason_ : has_all ? "finished" : stopped_reason;
    if (const double peak = files_->metrics.peak_flops_rank();
        context_.keep_peak && peak > context_.peak.flops_of_rank) {
        context_.keep_peak(peak);
    }
    files_->metrics.end(reported);
    try {
        directory_->write("ranks.jsonl", facts.rank_lines);
    } catch (const Error& error) {
        warn(error.what());
    }
    const auto launcher = requests.launcher_end();
    account(table, !launcher);  // after an interrupt, mpirun may drop the end of long output
    const auto by_launcher = launcher ? fmt::format(" of the ranks, {} of {}, which was interrupted",
                                                    launcher->exit_code, launcher->name)
                                      : std::string{};
    if (is_unsaved) {
        console_.print(fmt::format("ended after step {} of {}, which is not saved ({}); exit code {}{}",
                                   facts.step, end_step_, unsaved_reason_, facts.exit_code, by_launcher));
        return;
    }
    if (is_finished) {
        directory_->write_done(facts.step);
    }
    const char* unsaved = spec_.checkpoint.every ? "" : "; no checkpoint is saved (checkpoint.every: none)";
    if (is_early) {
        console_.print(
            fmt::format("finished early, after step {} of {}: {}", facts.step, end_step_, facts.reason));
    }
    console_.print(
        is_finished
            ? fmt::format("finished: {} steps, {}{}{}", facts.step, directory_->path(), unsaved,
                          launcher ? "; exit code 0" + by_launcher : "")
            : fmt::format(
                  "stopped after step {} of {}{} on request{}; exit code {}{}{}", facts.step, end_step_,
                  facts.lacks_validation ? ", in the last validation," : "", unsaved, facts.exit_code,
                  by_launcher,
                  facts.exit_code == exit_code_run_again ? ". Run the same command again to resume." : ""));
}

}  // namespace ziggurat::train
