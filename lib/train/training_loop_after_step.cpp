/// TrainingLoop: what follows a step: its outcome, reports, saves, validations and the end of the run.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/text/message.hpp"
#include "comm/control.hpp"
#include "train/exchange_average.hpp"
#include "train/generate/text_generator.hpp"
#include "train/training_loop.hpp"

namespace ziggurat::train {

void TrainingLoop::end_step() {
    auto [report, targets, step_seconds] = in_flight_.end();
    const auto& outcome = assembly_.outcome();
    account_.add_outcome(report);
    requests_.step_ended(outcome.step_requests, step_seconds, assembly_.step_requests());
    if (outcome.is_abandoned) {
        in_flight_.abandon();
        print_messages();
        return;
    }
    check_updated_step();

    ++step_;
    if (assembly_.complete_update(step_)) {
        account_.add_rest();
    }
    tokens_ += tokens_per_step();
    skips_.note(outcome.is_skipped, outcome.is_spike);
    grad_norm_ = outcome.is_skipped ? grad_norm_ : outcome.grad_norm;

    report.step = step_;
    report.tokens = tokens_;
    report.loss_tokens = targets;
    if (targets > 0) {
        report.loss = outcome.loss_sum / static_cast<double>(targets);
    } else {
        warn_of_no_targets();
    }
    report.rewards = means_of(outcome.rewards);
    report.loss_by_source = outcome.by_source;
    sources_->add_step(feeder_.first_sample(step_));
    if (sources_->by_source().size() > 1) {
        report.samples_by_source = sources_->by_source();
    }
    report.begun_epochs = sources_->begun();
    report.grad_norm = outcome.grad_norm;
    report.is_skipped = outcome.is_skipped;
    report.skipped = skips_.skipped();
    look_for_spike(report);
    report.step_s = step_seconds;
    report.tok_s = static_cast<double>(tokens_per_step()) / report.step_s;
    account_.add_utilisation(report);
    report.device_peak_bytes = max_bytes_[spec::Tier::device];
    report.nvme_bytes = max_bytes_[spec::Tier::nvme];
    report.host_peak_bytes = max_bytes_[spec::Tier::host];
    const auto due = due_requests(outcome.step_requests);
    const bool is_last = step_ >= spec_.train.steps || is_to_end();
    {
        const auto since_ns = monotonic_ns();
        reporter_.step(report, is_last);
        print_messages(requests_.agreed() == 0);
        times().add(logging_activity_, assembly_.train_executor().idle_seconds_since(since_ns));
    }
    if (are_norms_due(step_)) {
        reporter_.norms(step_, assembly_.unit_norms());
        account_.add_rest();
    }
    slow_path_.step_ended(due);
    skips_.check(step_);
    if (back_) {
        return;
    }
    data_.look_at_times();
    // A due checkpoint is saved before the validation, because the validation may take long.
    const auto phase = checkpointer_.phase();
    const bool saves =
        !is_last && checkpointer_.after_step(step_, tokens_, due, [this] { return progress(); });
    if (checkpointer_.phase() != phase) {
        in_flight_.save_changed();
    }
    const bool is_due = validation_due_.is_due(step_, tokens_) || due[StepRequest::validate] > 0;
    if (is_due && evaluation_.has_samples()) {
        if (is_last) {
            checkpointer_.finish(progress());
        }
        validate();
    }
    requests_.checkpoint_took(checkpointer_.slowest_seconds());
    if (saves || due[StepRequest::report] > 0) {
        print_account(due[StepRequest::report] > 0);
    }
    times().end_step(tokens_per_step());
}

StepRequests TrainingLoop::due_requests(const StepRequests& agreed) {
    const auto due = in_flight_.due(agreed, step_);
    if ((requests_.agreed() > 0 || in_flight_.has_waiting()) && !in_flight_.is_drained()) {
        assembly_.drain_pipeline(std::min(assembly_.pipeline_fill().end_step, in_flight_.soonest_end()));
    }
    return due;
}

void TrainingLoop::look_for_spike(StepReport& report) {
    const auto& outcome = assembly_.outcome();
    const bool is_finite = !outcome.is_skipped || outcome.is_spike;
    if (!report.loss || !is_finite) {
        return;
    }
    if (outcome.is_spike) {
        const auto scores = spikes_.scores(*report.loss, outcome.grad_norm);
        report.is_spike = true;
        report.loss_z = scores.loss;
        report.grad_norm_z = scores.grad_norm;
    }
    spikes_.note(*report.loss, outcome.grad_norm, outcome.is_spike);
    if (outcome.is_spike && spec_.train.spikes.action == spec::SpikeAction::roll_back) {
        checkpointer_.drain();
        if (checkpointer_.saved_step() >= 0) {
            back_ = RollBack{step_, checkpointer_.saved_step(), feeder_.first_sample(step_)};
        }
    }
}

void TrainingLoop::check_updated_step() {
    const auto& outcome = assembly_.outcome();
    if (!outcome.is_updated || !outcome.is_skipped) {
        return;
    }
    // A running save still has the state of the step before.
    assembly_.train_executor().finish();
    checkpointer_.drain();
    const auto saved = checkpointer_.saved_step();
    throw Error{ErrorKind::numerics,
                fmt::format("step {} is not finite (loss sum {}, gradient norm {}): "
                            "overlap.optimizer_with_backward has updated weights before the norm was known, "
                            "so the step cannot be skipped. {} with overlap.optimizer_with_backward=false, "
                            "which skips such steps.",
                            step_ + 1, outcome.loss_sum, outcome.grad_norm,
                            saved >= 0 ? fmt::format("Resume from the checkpoint of step {}", saved)
                                       : std::string{"Start again"})};
}

void TrainingLoop::warn_of_no_targets() {
    if (!has_warned_of_no_targets_) {
        reporter_.print_line(message(
            Severity::warning,
            fmt::format(
                "the batch of step {} has no target tokens, so it has no loss and no "
                "gradients (its update is only decay and momentum; loss is null in "
                "metrics.jsonl). Check data.reset_at_document, documents of one token, and "
                "samples that data.seq cuts before their first counted token. This warning is printed once.",
                step_)));
    }
    has_warned_of_no_targets_ = true;
}

void TrainingLoop::print_messages(bool is_in_step) {
    reporter_.print_messages(requests_,
                             {.steps_done = step_,
                              .is_in_step = is_in_step,
                              .is_starting = is_starting(),
                              .saved_step = checkpointer_.saved_step()},
                             [this] { return account_.own_table(); });
}

std::int64_t TrainingLoop::process_bytes() const {
    return std::max<std::int64_t>(0, resident_.own_bytes() - assembly_.private_arena_bytes());
}

bool TrainingLoop::is_to_stop() {
    requests_.poll(has_begun_);
    std::int64_t level = requests_.requested();
    comm::all_reduce_max(world_, {&level, 1});
    requests_.agreed_to_stop(static_cast<int>(level));
    print_messages(level == 0);
    return level > 0;
}

void TrainingLoop::validate() {
    const auto begin_ns = monotonic_ns();
    checkpointer_.prepare_for_pause();
    const auto stops = [this] {
        checkpointer_.update_between_steps();
        return is_to_stop();
    };
    const auto weights = spec_.validate.weights;
    ValidationReport report{.step = step_, .tokens = tokens_};
    std::optional<std::string> sample;
    const bool is_complete =
        (weights == spec::ValidatedWeights::average || measure_loss(stops, report)) &&
        (weights == spec::ValidatedWeights::raw || validate_average(stops, report, sample));
    if (!is_complete) {
        return;
    }
    report.seconds = seconds_between(begin_ns, monotonic_ns());
    reporter_.validation(report);
    if (weights != spec::ValidatedWeights::average) {
        sample = generate_sample(stops);
    }
    if (sample) {
        reporter_.sample(step_, *sample);
    }
    if (const auto loss = report.decisive_loss()) {
        tracker_.add(step_, *loss, checkpointer_.fd_path() + "/ckpt", reporter_);
        if (tracker_.is_best()) {
            reporter_.best(report);
        }
        checkpointer_.keep(tracker_.best());
        checkpointer_.save_best(progress());
        ended_reason_ = tracker_.stop_reason();
    }
}

bool TrainingLoop::measure_loss(const Evaluation::Stops& stops, ValidationReport& report) {
    const ScopedActivity time{times(), validation_activity_};
    const auto loss = evaluation_.validate(stops);
    lacks_validation_ = !loss && checkpointer_.is_on() && step_ >= spec_.train.steps;
    if (!loss) {
        return false;
    }
    report.loss = loss->mean;
    report.loss_tokens = loss->tokens;
    report.rewards = means_of(loss->rewards);
    report.loss_by_source = loss->by_source;
    return true;
}

bool TrainingLoop::validate_average(const Evaluation::Stops& stops,
                                    ValidationReport& report,
                                    std::optional<std::string>& sample) {
    const auto exchange = [this] {
        const ScopedActivity time{times(), validation_activity_};
        assembly_.train_executor().finish();
        exchange_average(world_, assembly_.state());
    };
    const bool is_alone = spec_.validate.weights == spec::ValidatedWeights::average;
    ValidationReport of_average = report;
    checkpointer_.drain();  // a running save would read the average as the weights
    exchange();
    const bool is_complete = measure_loss(stops, of_average);
    if (is_complete && is_alone) {
        sample = generate_sample(stops);
    }
    exchange();
    if (is_alone) {
        report = of_average;
        report.is_of_average = true;
    } else {
        report.average_loss = of_average.loss;
    }
    return is_complete;
}

std::optional<std::string> TrainingLoop::generate_sample(const Evaluation::Stops& stops) {
    if (!spec_.validate.sample || !sample_.tokenizer) {
        return std::nullopt;
    }
    const ScopedActivity time{times(), sampling_activity_};
    const auto made = generate_text(spec_, assembly_, *sample_.tokenizer, *spec_.validate.sample,
                                    sample_.prompt, step_, stops);
    return made ? std::optional{made->text} : std::nullopt;
}

void TrainingLoop::print_account(bool is_shown) {
    assembly_.train_executor().finish();
    account_.add_rest();
    reporter_.account(account_.table(), is_shown);
}

LoopEnd TrainingLoop::end_before_steps() {
    assembly_.train_executor().finish();
    account_.add_rest();
    report_end(exit_code_run_again);
    return {exit_code_run_again};
}

void TrainingLoop::report_end(int exit_code) {
    RunEnd facts{.step = step_,
                 .tokens = tokens_,
                 .wall_s = seconds_between(begin_ns_, monotonic_ns()),
                 .exit_code = exit_code,
                 .lacks_validation = lacks_validation_,
                 .reason = ended_reason_,
                 .weights_hash = is_starting() ? 0 : assembly_.weights_hash()};
    const auto table = account_.table(&facts);
    account_.write_trace(checkpointer_.fd_path());
    reporter_.end(facts, requests_, table);
}

}  // namespace ziggurat::train
