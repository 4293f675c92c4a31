#include "train/training_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/heap.hpp"
#include "base/path_exists.hpp"
#include "base/text/message.hpp"
#include "comm/control.hpp"
#include "data/order/order_weights.hpp"
#include "data/text/text_stream.hpp"
#include "optim/adamw_inputs.hpp"
#include "spec/depths.hpp"
#include "train/control/drain_schedule.hpp"
#include "train/generate/text_generator.hpp"
#include "train/ops/late_failure.hpp"
#include "train/preference/complete_scores.hpp"
#include "train/preference/reference_weights.hpp"
#include "train/resume/keep_companions.hpp"
#include "train/save/resumed_data.hpp"

namespace ziggurat::train {
namespace {

constexpr std::int64_t max_record_bytes = 16 << 20;

/// Returns the resumed state; after a rollback, with the samples that follow those of the spike.
Resumed after_spike(Resumed resumed, const std::optional<RollBack>& back) {
    if (back) {
        // Weights change at the same steps, although the steps have later samples.
        data::shift_changes(resumed.progress.order, resumed.progress.next_sample,
                            back->next_sample - resumed.progress.next_sample);
        resumed.progress.next_sample = back->next_sample;
        resumed.progress.pace = {};
    }
    return resumed;
}

/// Returns the algorithms of products that earlier jobs of the run used; empty without them.
///
/// Collective: over `world`
ProductRecord recorded_products(const LoopInputs& inputs) {
    if (inputs.spec.precision.products != spec::ProductChoice::measured) {
        return {};
    }
    std::string text = to_json({});
    const auto path = inputs.reporter.fd_path() + "/" + product_record_file;
    if (inputs.world.rank() == 0 && path_exists(path)) {
        text = data::read_text(path, max_record_bytes);
    }
    text = comm::broadcast(inputs.world, text);
    return parse_product_record(text, inputs.spec.run.dir + "/" + product_record_file);
}

}  // namespace

TrainingLoop::TrainingLoop(const LoopInputs& inputs)
    : spec_{inputs.spec},
      requests_{inputs.requests},
      reporter_{inputs.reporter},
      tokenizer_{inputs.tokenizer},
      data_{inputs.data},
      devices_{inputs.devices},
      assembly_{spec_,           build_programs(spec_, inputs.world.rank()),
                inputs.world,    devices_,
                StateInit::zero, recorded_products(inputs)},
      world_{assembly_.world()},
      model_{spec_, inputs.world.rank()},
      resumed_{after_spike(resume(spec_,
                                  inputs.context.effective_deck,
                                  world_,
                                  assembly_.state(),
                                  inputs.reporter,
                                  {for_manifest(inputs.data.files(), inputs.context.secrets),
                                   inputs.corpus.order(spec_.train.global_batch), spec_.train.global_batch}),
                           inputs.back)},
      tracker_{spec_, world_, checkpoint_root(spec_),
               resumed_.is_own ? std::optional{resumed_.progress.step} : std::nullopt},
      course_{spec_, resumed_.progress},
      order_{resumed_.progress.order.is_known() ? resumed_.progress.order
                                                : inputs.corpus.order(spec_.train.global_batch)},
      corpus_{inputs.corpus},
      references_{spec_.data.has_pairs ? corpus_.num_pairs() : 0},
      feeder_{spec_,
              inputs.corpus.training(order_),
              {model_.sequence_group, model_.turned_group, model_.positions},
              spec::has_no_flush(spec_.parallel) ? model_.counts_targets() : model_.counts_losses(),
              resumed_.progress,
              references_.all()},
      evaluation_{
          spec_,     inputs.corpus.validation(inputs.spec.validate.batches * inputs.spec.train.global_batch),
          world_,    model_,
          assembly_, references_.all()},
      account_{spec_,    world_, assembly_, model_.table, inputs.context.peak, inputs.context.planned_step,
               step_ + 1},
      checkpointer_{spec_,
                    inputs.context,
                    world_,
                    assembly_.state(),
                    assembly_.step_requests(),
                    inputs.reporter,
                    times(),
                    resumed_.is_own ? step_ : -1,
                    &inputs.data} {
    spec_.train.steps = course_.end_step();
    checkpointer_.keep(tracker_.best());
    reporter_.ends_after(spec_.train.steps);
    if (inputs.world.rank() == 0) {
        checkpoint::repair_folder(checkpointer_.fd_path() + "/ckpt");
        try {
            keep_companions_of_start(inputs.spec.model, resumed_, checkpointer_.fd_path() + "/ckpt");
        } catch (const Error& error) {
            reporter_.print_line(
                message(Severity::warning,
                        fmt::format("an export of this run will lack the tokenizer's files and the "
                                    "generation settings of its model ({})",
                                    error.what())));
        }
    }
    if (was_finished()) {
        return;
    }
    sources_.emplace(order_, spec_.data.train, resumed_.progress.next_sample);
    for (const auto tier : {spec::Tier::device, spec::Tier::host, spec::Tier::nvme}) {
        max_bytes_[tier] = assembly_.arena_bytes(tier);
    }
    comm::all_reduce_max(world_, max_bytes_);
    reporter_.busy("sets initial values");
    set_missing_values(spec_, resumed_, assembly_);
    reporter_.open(resumed_.is_own ? std::optional{step_} : std::nullopt);
    reporter_.keep_products(assembly_.products());
    if (inputs.back) {
        reporter_.roll_back(step_, inputs.back->from_step, inputs.back->next_sample);
    }
    if (spec_.data.train.size() > 1) {
        std::vector<SourceLoss> sources;
        for (const auto& source : spec_.data.train) {
            sources.push_back({.name = source.name});
        }
        assembly_.split_losses(std::move(sources),
                               [this](std::int64_t sample) { return feeder_.source_of(sample); });
    }
    data_activity_ = times().activity("Wait for data");
    validation_activity_ = times().activity("Validation", Part::between_steps);
    sampling_activity_ = times().activity("Sampling", Part::between_steps);
    logging_activity_ = times().activity("Logging and metrics");
    assembly_.add_step_end_hook([this](StepFigures& mine) {
        account_.measure(mine);
        mine.process_peak_bytes = process_peak_bytes_ = std::max(process_peak_bytes_, process_bytes());
    });
    assembly_.train_executor().between_ops([this] {
        // The reduction at the end of the step carries requests that arrive up to then.
        requests_.put_into(assembly_.step_requests());
        // A step that has changed state must be completed.
        if (assembly_.step_requests()[StepRequest::stop_after_microbatch] > 0 && !changes_state_early()) {
            assembly_.abandon_step();
        }
        checkpointer_.check_now();
        assembly_.poll_outcomes();
        print_messages();
    });
    if (has_no_flush()) {
        stage_.emplace(inputs.world.group().split(model_.stage));
    }
}

bool TrainingLoop::changes_state_early() const {
    if (has_no_flush()) {
        return true;
    }
    const bool publishes_older = spec_.overlap.delayed_update && step_ >= spec_.overlap.delayed_update_after;
    return publishes_older || (spec_.overlap.optimizer_with_backward && !spec::speculates(spec_));
}

LoopEnd TrainingLoop::run() {
    try {
        return train();
    } catch (...) {
        if (assembly_.computes_late()) {
            end_job_at_once(world_);
        }
        throw;
    }
}

LoopEnd TrainingLoop::train() {
    if (was_finished()) {
        skips_.check_end(step_);
        reporter_.finished_before(step_, tracker_.stop_reason());
        return {};
    }
    reporter_.start(account_.fields(), assembly_.not_shared_reason(), assembly_.attention_ops());
    for (const auto& note : assembly_.notes()) {
        reporter_.print_line(message(Severity::warning, note));
    }
    give_back_heap();  // free heap memory that the start has left
    complete_scores(
        {.spec = spec_,
         .world = world_,
         .model = model_,
         .assembly = assembly_,
         .corpus = corpus_,
         .order = order_,
         .resumed = resumed_,
         .reporter = reporter_,
         .first_sample = feeder_.first_sample(step_),
         .end_sample = feeder_.first_sample(spec_.train.steps)},
        data_.files(), [this] { return is_to_stop(); }, references_);
    account_.end_start();
    is_to_stop();  // agree on requests that arrived during the start
    reporter_.busy("trains the first step");
    while (!is_finished() && !is_to_end() && !back_) {
        one_step();
    }
    assembly_.train_executor().finish();
    account_.add_rest();
    if (back_) {
        return {.back = back_};
    }
    const bool is_saved = checkpointer_.finish(progress());
    if (is_finished()) {
        skips_.check_end(step_);
    }
    const int exit_code = !is_saved       ? static_cast<int>(ErrorKind::resource)
                          : is_finished() ? 0
                                          : exit_code_of_stop(checkpointer_.is_on());
    report_end(exit_code);
    return {exit_code};
}

bool TrainingLoop::was_finished() const {
    return resumed_.is_own &&
           (resumed_.progress.step >= spec_.train.steps || !tracker_.stop_reason().empty());
}

checkpoint::TrainingProgress TrainingLoop::progress() const {
    return {.step = step_,
            .tokens = tokens_,
            .next_sample = feeder_.first_sample(step_),
            .skipped = skips_.skipped(),
            .seconds = resumed_.progress.seconds + seconds_between(begin_ns_, monotonic_ns()),
            .skipped_in_a_row = skips_.in_a_row(),
            .pace = checkpoint::increments_from(resumed_.progress, spec_.train.global_batch,
                                                spec_.train.global_batch * spec_.data.seq),
            .recent = spikes_.recent(),
            .course = course_.record(step_, tokens_),
            .order = data::reached(order_, feeder_.first_sample(step_), sources_->counts()),
            .grad_norm = grad_norm_};
}

void TrainingLoop::one_step() {
    run_step();
    while (in_flight_.has_due() && !back_) {
        if (has_no_flush()) {
            assembly_.limit(spikes_.limits(in_flight_.oldest_targets()));
            assembly_.wait_for_outcome();
        }
        end_step();
    }
}

std::int64_t TrainingLoop::prepare_step() {
    const auto begun = in_flight_.begun();
    if (!has_no_flush()) {
        return feeder_.fill(begun, assembly_.train_slots(), world_);
    }
    auto& executor = assembly_.train_executor();
    const auto stage = world_.in(*stage_);
    if (in_flight_.is_drained()) {
        executor.finish();
        assembly_.fill_pipeline(begun);
        assembly_.drain_pipeline(next_drain(spec_, begun, tokens_));
        for (auto step = begun - assembly_.runs_to_fill(); step < begun; ++step) {
            feeder_.fill_ahead(step, assembly_.pipeline_fill(), assembly_.train_slots(), stage);
            assembly_.step_inputs().step = step;
            executor.run_step();
            account_.add_rest();
        }
    }
    return feeder_.fill_ahead(begun, assembly_.pipeline_fill(), assembly_.train_slots(), stage);
}

void TrainingLoop::run_step() {
    const auto begin_ns = monotonic_ns();
    const auto begun = in_flight_.begun();
    auto& run = in_flight_.begin();
    auto& report = run.report;
    run.targets = prepare_step();
    const double data_seconds = assembly_.train_executor().idle_seconds_since(begin_ns);
    times().add(data_activity_, data_seconds);
    report.stall(data_stall) = data_seconds;

    // Stages skip updates on their own, and other stages do not know of it in time.
    const auto skipped = has_no_flush() ? 0 : skips_.skipped();
    const auto tokens = tokens_ + (begun - step_) * tokens_per_step();
    assembly_.step_inputs() =
        optim::make_step_inputs(spec_.optimizer, spec_.train.average, course_.rate(begun, tokens), begun,
                                begun - skipped + 1, run.targets);
    if (spec_.optimizer.clip == spec::ClipPolicy::previous_norm) {
        assembly_.step_inputs().gradient_scale = optim::clip_factor(spec_.optimizer, grad_norm_);
    }
    report.lr = static_cast<double>(assembly_.step_inputs().learning_rate);
    if (!has_no_flush()) {
        assembly_.limit(spikes_.limits(run.targets));
    }
    account_.begin_step(begun);
    assembly_.train_executor().run_step();
    account_.add_step(report);
    run.seconds = seconds_between(begin_ns, monotonic_ns());
    in_flight_.ran();
}

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
        reporter_.print_line(
            message(Severity::warning,
                    fmt::format("the batch of step {} has no target tokens, so it has no loss and no "
                                "gradients (its update is only decay and momentum; loss is null in "
                                "metrics.jsonl). Check data.reset_at_document and documents of one "
                                "token. This warning is printed once.",
                                step_)));
    }
    has_warned_of_no_targets_ = true;
}

void TrainingLoop::print_messages(bool is_in_step) {
    reporter_.print_messages(
        requests_, {.steps_done = step_, .is_in_step = is_in_step, .saved_step = checkpointer_.saved_step()},
        [this] { return account_.own_table(); });
}

std::int64_t TrainingLoop::process_bytes() const {
    return std::max<std::int64_t>(0, resident_.own_bytes() - assembly_.private_arena_bytes());
}

bool TrainingLoop::is_to_stop() {
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
    ValidationReport report;
    {
        const ScopedActivity time{times(), validation_activity_};
        const auto loss = evaluation_.validate(stops);
        if (!loss) {
            return;
        }
        report.loss = loss->mean;
        report.loss_tokens = loss->tokens;
        report.rewards = means_of(loss->rewards);
        report.loss_by_source = loss->by_source;
    }
    report.step = step_;
    report.tokens = tokens_;
    report.seconds = seconds_between(begin_ns, monotonic_ns());
    reporter_.validation(report);
    if (spec_.validate.sample && tokenizer_ != nullptr) {
        const ScopedActivity time{times(), sampling_activity_};
        if (const auto made =
                generate_text(spec_, assembly_, *tokenizer_, *spec_.validate.sample, step_, {}, stops)) {
            reporter_.sample(step_, made->text);
        }
    }
    if (report.loss) {
        tracker_.add(step_, *report.loss, checkpointer_.fd_path() + "/ckpt", reporter_);
        checkpointer_.keep(tracker_.best());
        checkpointer_.save_best(progress());
        ended_reason_ = tracker_.stop_reason();
    }
}

void TrainingLoop::print_account(bool is_shown) {
    assembly_.train_executor().finish();
    account_.add_rest();
    reporter_.account(account_.table(), is_shown);
}

void TrainingLoop::report_end(int exit_code) {
    RunEnd facts{.step = step_,
                 .tokens = tokens_,
                 .wall_s = seconds_between(begin_ns_, monotonic_ns()),
                 .exit_code = exit_code,
                 .reason = ended_reason_,
                 .weights_hash = assembly_.weights_hash()};
    const auto table = account_.table(&facts);
    account_.write_trace(checkpointer_.fd_path());
    reporter_.end(facts, requests_, table);
}

}  // namespace ziggurat::train
