#include "train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failure.hpp"
#include "base/heap.hpp"
#include "base/message.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"
#include "comm/watch/liveness.hpp"
#include "data/corpus.hpp"
#include "optim/step_inputs.hpp"
#include "schedule/model_layout.hpp"
#include "train/account/resident_memory.hpp"
#include "train/account/run_account.hpp"
#include "train/control/skip_limit.hpp"
#include "train/control/validation_due.hpp"
#include "train/evaluation.hpp"
#include "train/feeder.hpp"
#include "train/report/introduction.hpp"
#include "train/report/leaving_note.hpp"
#include "train/report/reporter.hpp"
#include "train/report/shared_folder.hpp"
#include "train/report/slow_path_watch.hpp"
#include "train/save/checkpointer.hpp"
#include "train/save/data_guard.hpp"
#include "train/save/resume.hpp"
#include "train/step/assembly.hpp"
#include "train/step/same_program.hpp"

namespace ziggurat::train {
namespace {

class Trainer {
  public:
    Trainer(const spec::RunSpec& spec,
            const comm::Communicator& world,
            const comm::AbortFlag& abort,
            const data::Corpus& corpus,
            DataGuard& data,
            const RunContext& context,
            Requests& requests,
            Reporter& reporter)
        : spec_{spec},
          world_{world},
          requests_{requests},
          reporter_{reporter},
          data_{data},
          stream_{spec.parallel.threads},
          assembly_{spec, build_programs(spec, world.rank()), world, stream_, abort, StateAtFirst::zero},
          model_{spec, world.rank()},
          resumed_{
              resume(spec, context.effective_deck, world, abort, assembly_.state(), reporter, data.files())},
          feeder_{spec, corpus.training(), model_.data_rank, resumed_.progress},
          evaluation_{spec,
                      corpus.validation(spec.validate.batches * spec.train.global_batch),
                      world,
                      stream_,
                      model_.data_rank,
                      assembly_},
          account_{spec, world, assembly_, model_.table, context.peak, step_ + 1},
          checkpointer_{spec,
                        context,
                        world,
                        assembly_.state(),
                        assembly_.step_requests(),
                        reporter,
                        times(),
                        resumed_.is_own ? step_ : -1,
                        &data} {
        if (world.rank() == 0) {
            checkpoint::tidy_up(checkpointer_.way() + "/ckpt");
        }
        if (was_finished()) {
            return;
        }
        if (resumed_.is_afresh() && spec.model.init_path.empty()) {
            reporter_.busy("sets initial values");
            assembly_.set_initial_values();
        }
        reporter_.open(resumed_.is_own ? std::optional{step_} : std::nullopt);
        data_activity_ = times().activity("Wait for data");
        validation_activity_ = times().activity("Validation", Part::between_steps);
        sampling_activity_ = times().activity("Sampling", Part::between_steps);
        logging_activity_ = times().activity("Logging and metrics");
        assembly_.train_executor().between_ops([this] {
            requests_.put_into(assembly_.step_requests());  // as late as the step's end still takes it along
            if (assembly_.step_requests()[StepRequest::stop_after_microbatch] > 0) {
                assembly_.train_executor().abandon_step();
            }
            checkpointer_.look();
            say_news();
        });
    }

    int run() {
        if (was_finished()) {
            skips_.check_end(step_);
            reporter_.finished_before(step_);
            return 0;
        }
        reporter_.start(account_.fields(), assembly_.why_not_shared());
        for (const auto& note : assembly_.notes()) {
            reporter_.say(message(Severity::warning, note));
        }
        give_back_heap();  // what making ready has left
        is_to_stop();      // a request that came while all this was made ready
        reporter_.busy("trains the first step");
        while (step_ < spec_.train.steps && requests_.agreed() == 0) {
            one_step();
        }
        assembly_.train_executor().finish();
        account_.add_rest();
        const bool is_saved = checkpointer_.finish(progress());
        if (step_ >= spec_.train.steps) {
            skips_.check_end(step_);
        }
        const int exit_code = !is_saved                    ? static_cast<int>(ErrorKind::resource)
                              : step_ >= spec_.train.steps ? 0
                                                           : exit_code_of_stop(checkpointer_.is_on());
        report_end(exit_code);
        return exit_code;
    }

  private:
    /// By an earlier job in the same folder.
    bool was_finished() const { return resumed_.is_own && resumed_.progress.step >= spec_.train.steps; }

    checkpoint::Progress progress() const {
        return {.step = step_,
                .tokens = tokens_,
                .next_sample = feeder_.first_sample(step_),
                .skipped = skips_.skipped(),
                .seconds = resumed_.progress.seconds + seconds_between(begin_ns_, monotonic_ns()),
                .skipped_in_a_row = skips_.in_a_row()};
    }

    void one_step() {
        const auto begin_ns = monotonic_ns();
        StepReport report;
        const auto targets = feeder_.fill(step_, assembly_.train_slots(), world_);
        const double data_seconds = seconds_between(begin_ns, monotonic_ns());
        times().add(data_activity_, data_seconds);
        report.stall(Stall::data) = data_seconds;

        assembly_.step_inputs() = optim::make_step_inputs(spec_.optimizer, spec_.schedule, spec_.train.steps,
                                                          step_, step_ - skips_.skipped() + 1, targets);
        report.lr = static_cast<double>(assembly_.step_inputs().learning_rate);
        account_.begin_step(step_);
        assembly_.train_executor().run_step();
        const auto& outcome = assembly_.outcome();
        account_.add_step(report);
        const double step_seconds = seconds_between(begin_ns, monotonic_ns());
        requests_.step_ended(outcome.step_requests, step_seconds, assembly_.step_requests());
        if (outcome.is_abandoned) {
            say_news();
            return;
        }

        ++step_;
        tokens_ += spec_.train.global_batch * spec_.data.seq;
        skips_.note(outcome.is_skipped);

        report.step = step_;
        report.tokens = tokens_;
        if (targets > 0) {
            report.loss = outcome.loss_sum / static_cast<double>(targets);
        } else {
            warn_of_no_targets();
        }
        report.grad_norm = outcome.grad_norm;
        report.is_skipped = outcome.is_skipped;
        report.skipped = skips_.skipped();
        report.step_s = step_seconds;
        report.tok_s = static_cast<double>(spec_.train.global_batch * spec_.data.seq) / report.step_s;
        report.device_peak_bytes = assembly_.arena_bytes(spec::Tier::device);
        report.nvme_bytes = assembly_.arena_bytes(spec::Tier::nvme);
        report.host_peak_bytes = assembly_.arena_bytes(spec::Tier::host);
        report.process_peak_bytes = process_peak_bytes_ = std::max(process_peak_bytes_, process_bytes());
        {
            const ScopedActivity time{times(), logging_activity_};
            reporter_.step(report, step_ == spec_.train.steps || requests_.agreed() > 0);
            say_news(requests_.agreed() == 0);
        }
        slow_path_.step_ended(outcome.step_requests);
        skips_.check(step_);
        data_.look_at_times();
        const bool is_due =
            validation_due_.is_due(step_, tokens_) || outcome.step_requests[StepRequest::validate] > 0;
        if (is_due && evaluation_.has_samples()) {
            validate();
        }
        const bool saves = step_ < spec_.train.steps && requests_.agreed() == 0 &&
                           checkpointer_.after_step(progress(), outcome.step_requests);
        requests_.checkpoint_took(checkpointer_.slowest_seconds());
        if (saves || outcome.step_requests[StepRequest::report] > 0) {
            tell_account(outcome.step_requests[StepRequest::report] > 0);
        }
        times().end_step(spec_.train.global_batch * spec_.data.seq);
    }

    /// Once: there may be many such batches.
    void warn_of_no_targets() {
        if (!has_warned_of_no_targets_) {
            reporter_.say(message(
                Severity::warning,
                fmt::format("the batch of step {} has no target tokens, so it has no loss and teaches "
                            "nothing (its update is decay and momentum alone; loss is null in "
                            "metrics.jsonl). Look at data.reset_at_document and at documents of one "
                            "token. This is said once.",
                            step_)));
        }
        has_warned_of_no_targets_ = true;
    }

    void say_news(bool is_in_step = true) {
        reporter_.news(requests_, step_, is_in_step, [this] { return account_.own_table(); });
    }

    /// What this process has besides arenas, in no tier.
    std::int64_t process_bytes() const {
        return std::max<std::int64_t>(0, resident_.own_bytes() - assembly_.private_arena_bytes());
    }

    /// Whether all ranks leave off what they are at. Collective: over all ranks
    bool is_to_stop() {
        std::int64_t level = requests_.requested();
        comm::all_reduce_max(world_, {&level, 1});
        requests_.agreed_to_stop(static_cast<int>(level));
        say_news(level == 0);
        return level > 0;
    }

    /// Unless the run is to stop: then what remains of it is left out.
    void validate() {
        const auto begin_ns = monotonic_ns();
        const auto stops = [this] { return is_to_stop(); };
        ValidationReport report;
        {
            const ScopedActivity time{times(), validation_activity_};
            const auto loss = evaluation_.validate(stops);
            if (!loss) {
                return;
            }
            report.loss = loss->mean;
            report.loss_tokens = loss->tokens;
        }
        report.step = step_;
        report.tokens = tokens_;
        report.seconds = seconds_between(begin_ns, monotonic_ns());
        reporter_.validation(report);
        if (spec_.validate.sample) {
            const ScopedActivity time{times(), sampling_activity_};
            if (const auto text = evaluation_.generate(*spec_.validate.sample, step_, stops)) {
                reporter_.sample(step_, *text);
            }
        }
    }

    /// Because somebody has asked for it, or where it may be the last one of a run that is killed.
    void tell_account(bool is_shown) {
        assembly_.train_executor().finish();
        account_.add_rest();
        reporter_.account(account_.table(), is_shown);
    }

    void report_end(int exit_code) {
        RunEnd facts{.step = step_,
                     .tokens = tokens_,
                     .wall_s = seconds_between(begin_ns_, monotonic_ns()),
                     .exit_code = exit_code,
                     .weights_hash = assembly_.weights_hash()};
        const auto table = account_.table(&facts);
        account_.write_trace(checkpointer_.way());
        reporter_.end(facts, requests_, table);
    }

    Account& times() { return account_.times(); }

    const spec::RunSpec& spec_;
    const comm::Communicator& world_;
    Requests& requests_;
    Reporter& reporter_;
    DataGuard& data_;
    ResidentMemory resident_;
    device::Stream stream_;
    std::int64_t begin_ns_ = monotonic_ns();
    Assembly assembly_;
    schedule::ModelLayout model_;
    Resumed resumed_;
    Feeder feeder_;
    Evaluation evaluation_;
    std::int64_t step_ = resumed_.progress.step;  ///< steps done
    RunAccount account_;
    Checkpointer checkpointer_;
    int data_activity_ = -1, validation_activity_ = -1, sampling_activity_ = -1, logging_activity_ = -1;
    std::int64_t tokens_ = resumed_.progress.tokens;
    ValidationDue validation_due_{spec_, world_, tokens_};
    SlowPathWatch slow_path_{world_, assembly_, reporter_};
    SkipLimit skips_{resumed_.progress.skipped, resumed_.progress.skipped_in_a_row};
    std::int64_t process_peak_bytes_ = 0;
    bool has_warned_of_no_targets_ = false;
};

}  // namespace

int train(const spec::RunSpec& spec,
          const RunContext& context,
          const comm::Communicator& world,
          const comm::AbortFlag& abort,
          StopSignals& signals,
          Console& console) {
    Reporter reporter{spec, context, world, console};
    const LeavingNote leaving{world.liveness(), reporter};
    comm::barrier(world, &abort);  // now the folder is this job's
    if (auto* liveness = world.liveness()) {
        liveness->keep_errors_in(error_file_of(spec.run.dir, world.rank()));
    }
    expect_same_program(context.version, world);
    const auto nodes = comm::find_nodes(world, spec.debug.nodes);
    expect_folder_on_all_nodes(spec, nodes, world, reporter);
    reporter.busy("reads the training data");
    const auto corpus = open_corpus(spec, world);
    DataGuard data{corpus, nodes, world, reporter};
    if (world.rank() == 0) {
        corpus.check_tokens();
    }
    const bool is_first = world.rank() == 0;
    const auto limit = is_first ? find_time_limit(spec, context.begin_ns, context.stop_at_ns) : std::nullopt;
    introduce(spec, context.version, context.libraries, context.command, context.peak, context.depths, corpus,
              limit, world, console);
    Requests requests{
        signals,
        reporter.way(),
        limit,
        {.saves = spec.checkpoint.every.has_value(), .validates = corpus.num_validation_tokens() > 0}};
    for (const auto& note : requests.notes()) {
        reporter.say(message(Severity::note, reporter.said(note)));
    }
    try {
        reporter.busy("compiles the step and reserves memory");
        Trainer trainer{spec, world, abort, corpus, data, context, requests, reporter};
        return trainer.run();
    } catch (...) {
        const Failure failure = failure_at_hand();
        reporter.break_down(failure.problem, failure.exit_code);
        throw;
    }
}

}  // namespace ziggurat::train
