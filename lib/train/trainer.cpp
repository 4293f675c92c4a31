#include "train/trainer.hpp"

#include <sys/resource.h>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/control.hpp"
#include "comm/liveness.hpp"
#include "comm/node_topology.hpp"
#include "data/corpus.hpp"
#include "optim/step_inputs.hpp"
#include "schedule/model_layout.hpp"
#include "spec/counts.hpp"
#include "train/accounting_table.hpp"
#include "train/assembly.hpp"
#include "train/due.hpp"
#include "train/evaluation.hpp"
#include "train/feeder.hpp"
#include "train/introduction.hpp"
#include "train/metrics.hpp"
#include "train/op_account.hpp"
#include "train/run_directory.hpp"
#include "train/step_line.hpp"
#include "train/trace.hpp"
#include "train/traffic.hpp"

namespace ziggurat::train {
namespace {

/// So many updates in a row may be skipped; then the training itself has broken down.
constexpr std::int64_t most_skips_in_a_row = 20;
/// After Ctrl-C mpirun kills its ranks within a second: what may take longer is said before, by rank 0 for
/// itself.
constexpr double patience_of_launchers = 0.4;
/// Steps that a trace file holds.
constexpr int traced_steps = 8;
/// Waits of each lane that a rank names at the end.
constexpr std::size_t causes_told = 8;

std::int64_t peak_resident_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::int64_t{usage.ru_maxrss} * 1024;
}

/// What only rank 0 has.
struct Reporting {
    RunDirectory directory;
    Metrics metrics;
    StepLine line;
    Due is_line_due;

    Reporting(const spec::RunSpec& spec, Console& console)
        : directory{spec.run.dir},
          metrics{directory.file("metrics.jsonl"), [&console](std::string_view text) { console.warn(text); }},
          line{spec.train.steps},
          is_line_due{spec.logging.every} {}
};

std::optional<Reporting> open_reporting(const spec::RunSpec& spec,
                                        const RunContext& context,
                                        const comm::Communicator& world,
                                        Console& console) {
    std::optional<Reporting> made;
    if (world.rank() == 0) {
        made.emplace(spec, console);
        console.keep_log(made->directory.file("run.log"));
        made->directory.write("deck.effective.yaml", context.effective_deck);
        made->directory.write("env.txt",
                              environment_text(context.version, context.libraries, context.command));
        for (const auto& note : made->directory.notes()) {
            console.print("note: " + note);
        }
    }
    return made;
}

class Trainer {
  public:
    /// \param reporting  of rank 0; nothing elsewhere
    Trainer(const spec::RunSpec& spec,
            const comm::Communicator& world,
            const comm::AbortFlag& abort,
            const data::Corpus& corpus,
            const std::string& version,
            StopSignals& signals,
            Console& console,
            std::optional<Reporting>& reporting)
        : spec_{spec},
          world_{world},
          version_{version},
          signals_{signals},
          console_{console},
          reporting_{reporting},
          stream_{spec.parallel.threads},
          assembly_{spec, world, stream_, abort},
          model_{spec, world.rank()},
          feeder_{spec, corpus.training(), model_.data_rank},
          evaluation_{spec,
                      corpus.validation(spec.validate.batches * spec.train.global_batch),
                      world,
                      stream_,
                      model_.data_rank,
                      assembly_},
          op_account_{assembly_.trainer().program(), model_.table, account_},
          traffic_{assembly_.trainer().program(), [this](int op) { return assembly_.bytes_moved(op); }} {
        if (spec.run.trace) {
            trace_.emplace(world.rank(), op_account_.trace_lanes(), traced_steps);
        }
        data_activity_ = account_.activity("Wait for data");
        validation_activity_ = account_.activity("Validation", Part::between_steps);
        sampling_activity_ = account_.activity("Sampling", Part::between_steps);
        logging_activity_ = account_.activity("Logging and metrics");
        if (spec.validate.every) {
            is_validation_due_.emplace(*spec.validate.every);
        }
        assembly_.trainer().between_ops([this] {
            assembly_.ask_to_stop(signals_.requested());  // as late as the step's end still takes it along
            say_news();
        });
    }

    int run() {
        if (reporting_) {
            reporting_->metrics.start(facts());
        }
        while (step_ < spec_.train.steps && stop_level_ == 0) {
            one_step();
        }
        assembly_.trainer().finish();
        traffic_.count(assembly_.trainer().records(), false);
        const bool is_finished = step_ == spec_.train.steps;
        const int exit_code = is_finished ? 0 : exit_code_run_again;
        report_end(is_finished, exit_code);
        return exit_code;
    }

  private:
    RunFacts facts() const {
        RunFacts made;
        made.name = spec_.run.name;
        made.version = version_;
        made.ranks = world_.size();
        made.threads = spec_.parallel.threads;
        made.steps = spec_.train.steps;
        made.parameters = spec::count_parameters(spec_.model).total;
        made.tokens_per_step = spec_.train.global_batch * spec_.data.seq;
        made.flops_per_token = spec::flops_per_token(spec_);
        made.seed = spec_.run.seed;
        return made;
    }

    void one_step() {
        const auto begin_ns = monotonic_ns();
        StepReport report;
        const auto targets = feeder_.fill(step_, assembly_.train_slots(), world_);
        const double data_seconds = seconds_between(begin_ns, monotonic_ns());
        account_.add(data_activity_, data_seconds);
        report.stall(Stall::data) = data_seconds;

        assembly_.step_inputs() = optim::make_step_inputs(spec_.optimizer, spec_.schedule, spec_.train.steps,
                                                          step_, step_ - skipped_ + 1, targets);
        report.lr = static_cast<double>(assembly_.step_inputs().learning_rate);
        if (trace_) {
            trace_->begin_step(step_);
        }
        assembly_.trainer().run_step();
        const auto& outcome = assembly_.outcome();
        op_account_.add(assembly_.trainer().records(), report);
        traffic_.count(assembly_.trainer().records());
        report.sent_bytes = traffic_.latest();
        report.planned_bytes = traffic_.planned();
        if (trace_) {
            op_account_.add_to(*trace_, assembly_.trainer().records());
        }

        ++step_;
        tokens_ += spec_.train.global_batch * spec_.data.seq;
        stop_level_ = static_cast<int>(outcome.stop_level);
        signals_.merge(stop_level_);
        skipped_ += outcome.is_skipped ? 1 : 0;
        skips_in_a_row_ = outcome.is_skipped ? skips_in_a_row_ + 1 : 0;

        report.step = step_;
        report.tokens = tokens_;
        report.loss = targets > 0 ? outcome.loss_sum / static_cast<double>(targets) : 0;
        report.grad_norm = outcome.grad_norm;
        report.is_skipped = outcome.is_skipped;
        report.skipped = skipped_;
        report.step_s = seconds_between(begin_ns, monotonic_ns());
        report.tok_s = static_cast<double>(spec_.train.global_batch * spec_.data.seq) / report.step_s;
        report.device_peak_bytes = assembly_.arena_bytes(spec::Tier::device);
        report.host_peak_bytes = std::max<std::int64_t>(0, peak_resident_bytes() - report.device_peak_bytes);
        step_seconds_ = report.step_s;
        report_step(report);
        if (skips_in_a_row_ > most_skips_in_a_row) {
            throw Error{
                ErrorKind::numerics,
                fmt::format("{} updates in a row were skipped, the last at step {} (loss or gradient is not "
                            "finite). Lower optimizer.lr, lengthen schedule.warmup, or look at the data of "
                            "these steps.",
                            skips_in_a_row_, step_)};
        }
        validate_when_due();
        account_.end_step(spec_.train.global_batch * spec_.data.seq);
    }

    void report_step(const StepReport& report) {
        if (!reporting_) {
            return;
        }
        const ScopedActivity time{account_, logging_activity_};
        reporting_->metrics.step(report);
        reporting_->line.add(report);
        if (report.is_skipped) {
            console_.print(skipped_line(report));
        }
        const bool is_last = step_ == spec_.train.steps || stop_level_ > 0;
        if (reporting_->is_line_due.is_due(step_, tokens_) || is_last) {
            if (const auto heading = reporting_->line.heading()) {
                console_.print(*heading);
            }
            console_.print(reporting_->line.line());
        }
        console_.live(reporting_->line.live());
        say_news();
    }

    /// What signals have asked for, as soon as it is known. Cheap: called between ops.
    void say_news() {
        if (!reporting_) {
            return;
        }
        const auto news = signals_.news(step_ + 1, step_seconds_);
        if (!news.empty()) {
            if (auto* liveness = world_.liveness()) {
                liveness->look();  // launchers end a job that has lost a rank by the same signals
            }
            console_.print(news);
            reporting_->metrics.signal(signal_name(signals_.signal()), signals_.requested(), step_);
            const bool may_be_killed = signals_.signal() == SIGTERM || signals_.signal() == SIGINT;
            if (may_be_killed && step_seconds_ > patience_of_launchers) {
                const auto mine = account_.record();
                console_.print(account_table({&mine, 1}, spec::flops_per_token(spec_)));
            }
        }
    }

    /// The same on all ranks: by steps and tokens, and by time as rank 0 sees it.
    bool is_validation_due() {
        if (!is_validation_due_ || !evaluation_.has_samples()) {
            return false;
        }
        std::int64_t due = is_validation_due_->is_due(step_, tokens_) ? 1 : 0;
        if (spec_.validate.every->seconds > 0) {
            due = world_.rank() == 0 ? due : 0;
            comm::all_reduce_max(world_, {&due, 1});
        }
        return due != 0 || step_ == spec_.train.steps;
    }

    void validate_when_due() {
        if (!is_validation_due() || stop_level_ > 0) {
            return;
        }
        const auto begin_ns = monotonic_ns();
        ValidationReport report;
        {
            const ScopedActivity time{account_, validation_activity_};
            const auto loss = evaluation_.validate();
            report.loss = loss.mean;
            report.loss_tokens = loss.tokens;
        }
        report.step = step_;
        report.tokens = tokens_;
        report.seconds = seconds_between(begin_ns, monotonic_ns());
        if (reporting_) {
            reporting_->metrics.validate(report);
            console_.print(validation_line(report, spec_.train.steps));
        }
        if (spec_.validate.sample) {
            const ScopedActivity time{account_, sampling_activity_};
            const auto text = evaluation_.generate(*spec_.validate.sample, step_);
            if (reporting_) {
                console_.print(sample_block(step_, spec_.validate.sample->prompt, text,
                                            spec_.validate.sample->temperature));
            }
        }
    }

    void report_end(bool is_finished, int exit_code) {
        auto record = account_.record();
        record.flows = traffic_.flows();
        record.stall_causes = op_account_.stall_causes().longest(causes_told);
        const auto records =
            gather_records(record, [this](const std::string& text) { return comm::gather(world_, text); });
        const auto hash = assembly_.weights_hash();
        if (trace_) {
            trace_->write(spec_.run.dir + "/" + trace_file_name(world_.rank()));
        }
        if (!reporting_) {
            return;
        }
        if (!is_finished) {
            reporting_->metrics.stop(signal_name(signals_.signal()), step_);
        }
        RunEnd facts{.step = step_,
                     .tokens = tokens_,
                     .wall_s = seconds_between(begin_ns_, monotonic_ns()),
                     .exit_code = exit_code,
                     .weights_hash = hash};
        for (const auto& of_rank : records) {
            add_up(of_rank.flows, facts.sent_bytes, facts.planned_bytes);
        }
        reporting_->metrics.end(facts);
        const auto table = account_table(records, spec::flops_per_token(spec_));
        reporting_->directory.write("perf.txt", table);
        console_.print(table);
        console_.print(is_finished
                           ? fmt::format("finished: {} steps, {}", step_, reporting_->directory.path())
                           : fmt::format("stopped after step {} of {} as asked; exit code {}: run me again",
                                         step_, spec_.train.steps, exit_code));
    }

    const spec::RunSpec& spec_;
    const comm::Communicator& world_;
    const std::string& version_;
    StopSignals& signals_;
    Console& console_;
    std::optional<Reporting>& reporting_;
    device::Stream stream_;
    std::int64_t begin_ns_ = monotonic_ns();
    Assembly assembly_;
    schedule::ModelLayout model_;
    Feeder feeder_;
    Evaluation evaluation_;
    Account account_;
    OpAccount op_account_;
    Traffic traffic_;
    std::optional<Trace> trace_;
    std::optional<Due> is_validation_due_;
    int data_activity_ = -1, validation_activity_ = -1, sampling_activity_ = -1, logging_activity_ = -1;
    std::int64_t step_ = 0;  ///< steps done
    std::int64_t tokens_ = 0;
    std::int64_t skipped_ = 0;
    std::int64_t skips_in_a_row_ = 0;
    int stop_level_ = 0;
    double step_seconds_ = 0;
};

}  // namespace

int train(const spec::RunSpec& spec,
          const RunContext& context,
          const comm::Communicator& world,
          const comm::AbortFlag& abort,
          StopSignals& signals,
          Console& console) {
    auto reporting = open_reporting(spec, context, world, console);
    const data::Corpus corpus{spec.data, spec.model.vocab, spec.run.seed};
    if (world.rank() == 0) {
        corpus.check_tokens();
    }
    introduce(spec, context.version, context.libraries, context.command, corpus, world, console);
    Trainer trainer{spec, world, abort, corpus, context.version, signals, console, reporting};
    return trainer.run();
}

}  // namespace ziggurat::train
