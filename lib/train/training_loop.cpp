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
#include "train/ops/late_failure.hpp"
#include "train/preference/complete_scores.hpp"
#include "train/preference/reference_weights.hpp"
#include "train/report/run_files.hpp"
#include "train/resume/keep_companions.hpp"
#include "train/save/resumed_data.hpp"
#include "train/save/validation_key.hpp"

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
      stop_{inputs.stop},
      sample_{inputs.sample},
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
                                   inputs.corpus.order(spec_.train.global_batch), spec_.train.global_batch},
                                  stop_),
                           inputs.back)},
      tracker_{spec_, world_,
               inputs.world.rank() == 0 ? validation_key(spec_, inputs.corpus, inputs.data.files()) : 0,
               checkpoint_root(spec_),
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
    keep_inputs(inputs.context);
    lacks_validation_ = lacks_last_validation();
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

void TrainingLoop::keep_inputs(RunContext& context) {
    context.effective_deck = resumed_.deck;
    if (!resumed_.weights_from.empty()) {
        spec_.model.init_path = resumed_.weights_from;
    }
    if (!resumed_.reference_from.empty()) {
        spec_.train.objective.reference_path = resumed_.reference_from;
    }
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
    reporter_.start(account_.fields(), assembly_.not_shared_reason(), assembly_.attention_ops(),
                    assembly_.glu_ops());
    for (const auto& note : assembly_.notes()) {
        reporter_.print_line(message(Severity::warning, note));
    }
    give_back_heap();  // free heap memory that the start has left
    const bool has_scores = complete_scores(
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
        data_.files(), [this] { return is_to_stop(); }, stop_, references_);
    account_.end_start();
    const bool is_stopped = is_to_stop();  // agree on requests that arrived during the start
    if (!has_scores || is_stopped) {
        return end_before_steps();
    }
    has_begun_ = true;
    reporter_.busy("trains the first step");
    if (lacks_validation_) {
        validate();
    }
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
    const bool has_all = is_finished() && !lacks_validation_;
    const int exit_code = !is_saved ? static_cast<int>(ErrorKind::resource)
                          : has_all ? 0
                                    : exit_code_of_stop(checkpointer_.is_on());
    report_end(exit_code);
    return {exit_code};
}

bool TrainingLoop::lacks_last_validation() const {
    const bool is_at_end = resumed_.is_own && resumed_.progress.step >= spec_.train.steps;
    if (!is_at_end || !spec_.validate.every || !evaluation_.has_samples() ||
        !tracker_.stop_reason().empty() || tracker_.has(step_)) {
        return false;
    }
    const bool is_done = world_.rank() == 0 && path_exists(reporter_.fd_path() + "/" + done_name);
    return comm::all_agree(world_, !is_done);
}

bool TrainingLoop::was_finished() const {
    return resumed_.is_own && !lacks_validation_ &&
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
    assembly_.step_inputs().sums_norms = are_norms_due(begun + 1) ? 1 : 0;
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

}  // namespace ziggurat::train
