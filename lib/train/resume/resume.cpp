#include "train/resume/resume.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "checkpoint/catalogue/input_checkpoints.hpp"
#include "checkpoint/catalogue/read_choice.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "comm/control.hpp"
#include "train/control/training_schedule.hpp"
#include "train/report/reporter.hpp"
#include "train/resume/first_decision.hpp"
#include "train/resume/next_checkpoint.hpp"
#include "train/resume/resume_choice.hpp"
#include "train/resume/run_inputs.hpp"
#include "train/resume/start_check.hpp"
#include "train/save/load_state.hpp"

namespace ziggurat::train {
namespace {

/// Prints the messages that were not printed before.
void tell(const StartReport& report, std::set<std::string>& reported, Reporter& reporter) {
    const auto report_all = [&](Severity severity, const std::vector<std::string>& lines) {
        for (const auto& line : lines) {
            if (reported.insert(line).second) {
                reporter.print_line(message(severity, line));
            }
        }
    };
    report_all(Severity::warning, report.warnings);
    report_all(Severity::note, report.notes);
}

std::string resumed_line(const spec::RunSpec& spec,
                         const Resumed& resumed,
                         const checkpoint::Manifest& manifest,
                         double seconds) {
    const auto rate = seconds > 0 ? static_cast<double>(resumed.bytes_read) * 1e-9 / seconds : 0.0;
    return fmt::format("resumed after step {} of {} from {}, written by {}; read {} in {} ({:.3g} GB/s)",
                       resumed.progress.step, TrainingSchedule(spec, resumed.progress).end_step(),
                       resumed.path, manifest.layout, format_bytes(resumed.bytes_read),
                       format_duration(seconds), rate);
}

/// Returns a callback that shows the progress of this rank's reads and ends them if they are stopped.
auto shown_bytes(Progress& progress, const StopCheck& stop) {
    return [&progress, stop](std::int64_t done, std::int64_t all) {
        check(stop);
        progress.is_at(done, all);
    };
}

/// Loads the weights of a run that starts from scratch from a Hugging Face model.
void begin_with_published_weights(const StartRequest& intent,
                                  const comm::Context& world,
                                  const StateView& state,
                                  Reporter& reporter,
                                  std::string_view first,
                                  const StopCheck& stop) {
    const auto begin_ns = monotonic_ns();
    const auto& model = intent.spec.model;
    decide_on_first(world, [&]() -> Decision {
        std::set<std::string> reported;
        tell(check_hf_weights(intent), reported, reporter);
        return {};
    });
    auto& progress = reporter.busy("loads weights", "bytes");
    const auto bytes_read = load_published_weights(world, state, model, shown_bytes(progress, stop));
    reporter.print_line(fmt::format("{} the weights of {}; read {} in {}", first, printable(model.init_path),
                                    format_bytes(bytes_read),
                                    format_duration(seconds_between(begin_ns, monotonic_ns()))));
}

checkpoint::Manifest manifest_of(const Decision& decision) {
    return checkpoint::parse_manifest(decision.manifest, decision.path + "/COMPLETE");
}

/// Returns true if no step has changed the weights that the checkpoint's run started from.
bool keeps_base(const checkpoint::Manifest& manifest) {
    return manifest.progress.step == 0 || has_adapters(manifest);
}

/// Opens rank 0's checkpoint on another rank; returns nullopt on rank 0, which has it open already.
std::optional<checkpoint::CheckpointReader> open_elsewhere(const comm::Context& world,
                                                           const Decision& decision) {
    std::optional<checkpoint::CheckpointReader> reader;
    if (world.rank() != 0) {
        reader.emplace(decision.path, manifest_of(decision));
    }
    return reader;
}

/// Returns true if all ranks receive errors of this kind.
bool is_of_reading(const Error& error) {
    return error.kind() == ErrorKind::checkpoint || error.kind() == ErrorKind::resource;
}

/// Returns true if `error`, which all ranks have received, is due to a removed checkpoint.
///
/// Another training can remove the checkpoint that rank 0 has selected. Collective: over `world`
bool was_removed(const comm::Context& world,
                 const Error& error,
                 const std::optional<checkpoint::CheckpointReader>& chosen) {
    return is_of_reading(error) && !comm::all_agree(world, !chosen || chosen->is_in_place());
}

struct TakenWeights {
    std::string path;  ///< path of the checkpoint
    checkpoint::Manifest manifest;
};

/// Loads the weights of a run that starts from scratch from a checkpoint of another run.
TakenWeights begin_with_weights(const StartRequest& intent,
                                const comm::Context& world,
                                const StateView& state,
                                Reporter& reporter,
                                std::string_view first,
                                const StopCheck& stop) {
    const auto begin_ns = monotonic_ns();
    checkpoint::CheckpointSelector choice{
        intent.spec.model.init_path, checkpoint::ReadCheck::hashes,
        [&](const auto& note) { reporter.print_line(message(Severity::note, note)); }};
    std::optional<checkpoint::CheckpointReader> chosen;  // on rank 0, with its files open
    std::set<std::string> reported;                      // messages that rank 0 has printed
    while (true) {
        const auto decision = decide_on_first(world, [&]() -> Decision {
            chosen.emplace(choice.open());
            tell(check_weights(intent, *chosen), reported, reporter);
            return {chosen->path(), false, to_text(chosen->manifest())};
        });
        auto elsewhere = open_elsewhere(world, decision);
        checkpoint::CheckpointReader& reader = elsewhere ? *elsewhere : *chosen;
        reader.set_progress_callback(shown_bytes(reporter.busy("loads weights", "bytes"), stop));
        try {
            const auto bytes_read = load_weights(world, state, reader);
            reporter.print_line(fmt::format("{} the weights of {}, of step {}; read {} in {}", first,
                                            decision.path, reader.manifest().progress.step,
                                            format_bytes(bytes_read),
                                            format_duration(seconds_between(begin_ns, monotonic_ns()))));
            return {decision.path, reader.manifest()};
        } catch (const Error& error) {
            if (!is_of_reading(error) || !select_next(world, choice, reader)) {
                throw;
            }
        }
    }
}

}  // namespace

Resumed begin_from_scratch(const spec::RunSpec& spec,
                           const std::string& deck,
                           const comm::Context& world,
                           const StateView& state,
                           Reporter& reporter,
                           std::string_view first,
                           const StopCheck& stop) {
    const TrainingData no_data;
    const StartRequest intent{spec, deck, no_data};
    Resumed from_scratch;
    if (spec.model.is_init_published) {
        begin_with_published_weights(intent, world, state, reporter, first, stop);
        from_scratch.lacks_adapters = spec.model.lora.is_on();
    } else if (!spec.model.init_path.empty()) {
        auto taken = begin_with_weights(intent, world, state, reporter, first, stop);
        from_scratch.lacks_adapters = spec.model.lora.is_on() && !has_adapters(taken.manifest);
        from_scratch.weights_from = std::move(taken.path);
        from_scratch.has_weights_of_base = keeps_base(taken.manifest);
    }
    if (!deck.empty()) {
        from_scratch.deck =
            from_scratch.weights_from.empty()
                ? deck
                : checkpoint::with_input(deck, checkpoint::init_key, from_scratch.weights_from);
    }
    find_reference(spec, world, reporter, from_scratch);
    return from_scratch;
}

void load_again(const spec::RunSpec& spec,
                const Resumed& resumed,
                const comm::Context& world,
                const StateView& state,
                Reporter& reporter,
                const StopCheck& stop) {
    if (resumed.is_from_scratch()) {
        begin_from_scratch(spec, "", world, state, reporter, "begins again with", stop);
        return;
    }
    std::optional<checkpoint::CheckpointReader> chosen;  // on rank 0
    const auto decision = decide_on_first(world, [&]() -> Decision {
        chosen.emplace(resumed.path);
        return {resumed.path, resumed.is_own, to_text(chosen->manifest())};
    });
    auto elsewhere = open_elsewhere(world, decision);
    checkpoint::CheckpointReader& reader = elsewhere ? *elsewhere : *chosen;
    reader.set_progress_callback(shown_bytes(reporter.busy("loads the checkpoint again", "bytes"), stop));
    load_state(world, state, reader);
}

Resumed resume(const spec::RunSpec& spec,
               const std::string& deck,
               const comm::Context& world,
               const StateView& state,
               Reporter& reporter,
               const TrainingData& data,
               const StopCheck& stop) {
    const StartRequest intent{spec, deck, data};
    std::optional<ResumeChoice> choice;                  // on rank 0
    std::optional<checkpoint::CheckpointReader> chosen;  // on rank 0, with its files open
    std::set<std::string> reported;                      // messages that rank 0 has printed
    std::string reason;  // error of the previously selected checkpoint; the same on all ranks
    while (true) {
        const auto decision = decide_on_first(world, [&]() -> Decision {
            if (choice) {
                choice->skip_checkpoint(*chosen, reason);
            } else {
                choice.emplace(spec);
            }
            chosen = choice->open();
            if (!chosen) {
                return {};
            }
            const auto checked = check_resume(intent, *choice, *chosen);
            tell(checked.report, reported, reporter);
            return {chosen->path(), choice->is_own(), to_text(checked.manifest), checked.deck};
        });
        if (decision.path.empty()) {
            return begin_from_scratch(spec, deck, world, state, reporter, "begins with", stop);
        }
        const auto begin_ns = monotonic_ns();
        auto elsewhere = open_elsewhere(world, decision);
        checkpoint::CheckpointReader& reader = elsewhere ? *elsewhere : *chosen;
        reader.set_progress_callback(shown_bytes(reporter.busy("loads the checkpoint", "bytes"), stop));
        try {
            const auto bytes_read = load_state(world, state, reader);
            Resumed resumed{.path = decision.path,
                            .is_own = decision.is_own,
                            .deck = decision.deck,
                            .has_weights_of_base = keeps_base(manifest_of(decision)),
                            .progress = manifest_of(decision).progress,
                            .bytes_read = bytes_read};
            find_inputs(spec, world, reporter, resumed);
            reporter.print_line(
                resumed_line(spec, resumed, reader.manifest(), seconds_between(begin_ns, monotonic_ns())));
            return resumed;
        } catch (const Error& error) {
            // Reading a removed checkpoint can also fail with Error{resource}.
            const bool may_be_damaged = error.kind() == ErrorKind::checkpoint;
            if (!may_be_damaged && !was_removed(world, error, chosen)) {
                throw;
            }
            reason = error.what();
        }
    }
}

}  // namespace ziggurat::train
