#include "train/save/resume.hpp"

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/deck_changes.hpp"
#include "checkpoint/read_choice.hpp"
#include "comm/control.hpp"
#include "train/control/training_course.hpp"
#include "train/report/reporter.hpp"
#include "train/save/course_change.hpp"
#include "train/save/load_state.hpp"
#include "train/save/next_checkpoint.hpp"
#include "train/save/resume_choice.hpp"

namespace ziggurat::train {
namespace {

using nlohmann::json;

/// What rank 0 has decided, on all ranks.
struct Decision {
    std::string path;  ///< empty: afresh
    bool is_own = true;
    std::string manifest;  ///< the text of COMPLETE, with the order of the samples that follow
};

/// Runs `decide` on rank 0 and gives its answer, or its error, to all.
Decision decide_on_first(const comm::Context& world, const std::function<Decision()>& decide) {
    json said;
    if (world.rank() == 0) {
        try {
            const auto made = decide();
            said = {{"path", made.path}, {"is_own", made.is_own}, {"manifest", made.manifest}};
        } catch (const Error& error) {
            said = {{"code", error.exit_code()}, {"problem", error.what()}};
        } catch (const std::exception& error) {
            said = {{"code", static_cast<int>(ErrorKind::resource)}, {"problem", error.what()}};
        }
    }
    constexpr auto replace = json::error_handler_t::replace;  // paths may be any bytes
    const auto heard = json::parse(comm::broadcast(world, said.dump(-1, ' ', false, replace)));
    if (heard.contains("code")) {
        throw Error{static_cast<ErrorKind>(heard["code"].get<int>()), heard["problem"].get<std::string>()};
    }
    return {heard["path"], heard["is_own"], heard["manifest"]};
}

/// Differences of the deck from that of the checkpoint: told, or an error where the model is another.
std::vector<checkpoint::DeckChange> compare_decks(const std::string& before,
                                                  const std::string& now,
                                                  Reporter& reporter) {
    auto found = checkpoint::changes(before, now);
    if (const auto refusal = checkpoint::refusal(found); !refusal.empty()) {
        throw Error{ErrorKind::deck, refusal};
    }
    for (const auto& line : checkpoint::warnings(found)) {
        reporter.say(message(Severity::warning, line));
    }
    if (const auto note = checkpoint::note(found); !note.empty()) {
        reporter.say(message(Severity::note, note));
    }
    return found;
}

void tell(const std::vector<std::string>& warnings,
          const std::vector<std::string>& notes,
          Reporter& reporter) {
    for (const auto& line : warnings) {
        reporter.say(message(Severity::warning, line));
    }
    for (const auto& line : notes) {
        reporter.say(message(Severity::note, line));
    }
}

/// The same of length, learning rate and dropout's masks.
void compare_course(const spec::RunSpec& spec,
                    const checkpoint::Manifest& manifest,
                    const std::vector<checkpoint::DeckChange>& deck,
                    Reporter& reporter) {
    auto news = judge_course(spec, manifest.progress, deck);
    for (const auto& change : deck) {
        if (change.key == "run.seed" && spec.model.dropout > 0) {
            news.warnings.push_back(checkpoint::describe(change) +
                                    ": dropout draws other masks from here on");
        }
    }
    tell(news.warnings, news.notes, reporter);
}

/// The same of the training data. Returns the order of the samples that follow.
data::OrderRecord compare_data(const spec::RunSpec& spec,
                               const checkpoint::Manifest& manifest,
                               const std::vector<checkpoint::DeckChange>& deck,
                               const TrainingData& data,
                               Reporter& reporter) {
    const auto verdict = judge_data(manifest, deck, data, spec.run.accept_data_change);
    if (!verdict.refusal.empty()) {
        throw Error{ErrorKind::deck, verdict.refusal};
    }
    tell(verdict.warnings, verdict.notes, reporter);
    return verdict.order;
}

std::string resumed_line(const spec::RunSpec& spec,
                         const Resumed& resumed,
                         const checkpoint::Manifest& manifest,
                         double seconds) {
    const auto rate = seconds > 0 ? static_cast<double>(resumed.bytes_read) * 1e-9 / seconds : 0.0;
    return fmt::format("resumed after step {} of {} from {}, written by {}; read {} in {} ({:.3g} GB/s)",
                       resumed.progress.step, TrainingCourse(spec, resumed.progress).end_step(), resumed.path,
                       manifest.layout, format_bytes(resumed.bytes_read), format_duration(seconds), rate);
}

/// How far this rank has come with what it reads.
void show_bytes(checkpoint::CheckpointReader& reader, Progress& progress) {
    reader.tell_bytes([&](std::int64_t done, std::int64_t all) { progress.is_at(done, all); });
}

/// Weights of a run that begins afresh, from a published model.
void begin_with_published_weights(const spec::RunSpec& spec,
                                  const comm::Context& world,
                                  const HeldState& state,
                                  Reporter& reporter) {
    const auto begin_ns = monotonic_ns();
    auto& progress = reporter.busy("loads weights", "bytes");
    const auto loaded = load_published_weights(
        world, state, spec.model, [&](std::int64_t done, std::int64_t all) { progress.is_at(done, all); });
    reporter.say(fmt::format("begins with the weights of {}; read {} in {}", printable(spec.model.init_path),
                             format_bytes(loaded.bytes_read),
                             format_duration(seconds_between(begin_ns, monotonic_ns()))));
}

checkpoint::Manifest manifest_of(const Decision& decision) {
    return checkpoint::parse_manifest(decision.manifest, decision.path + "/COMPLETE");
}

/// What rank 0 has chosen, on another rank; nothing on rank 0, which has it open.
std::optional<checkpoint::CheckpointReader> open_elsewhere(const comm::Context& world,
                                                           const Decision& decision) {
    std::optional<checkpoint::CheckpointReader> reader;
    if (world.rank() != 0) {
        reader.emplace(decision.path, manifest_of(decision));
    }
    return reader;
}

/// Whether all ranks meet such an error alike.
bool is_of_reading(const Error& error) {
    return error.kind() == ErrorKind::checkpoint || error.kind() == ErrorKind::resource;
}

/// Whether `error`, which all ranks have met alike, comes of a training that has removed what rank 0 has
/// chosen. Collective: over `world`
bool was_removed(const comm::Context& world,
                 const Error& error,
                 const std::optional<checkpoint::CheckpointReader>& chosen) {
    return is_of_reading(error) && !comm::all_agree(world, !chosen || chosen->is_in_place());
}

/// Adapters that are taken over mean the same where their factor does.
void expect_same_alpha(const checkpoint::Manifest& before, const std::string& now, const std::string& path) {
    if (now.empty() || !has_adapters(before)) {
        return;
    }
    for (const auto& change : checkpoint::changes(before.deck, now)) {
        if (change.key == "train.lora.alpha") {
            throw Error{
                ErrorKind::deck,
                fmt::format("the adapters of '{}' would mean something else ({}). Give the deck its value, "
                            "or merge them first: `ziggurat export --merge`.",
                            path, describe(change))};
        }
    }
}

/// Weights of a run that begins afresh, from a checkpoint of another, whose manifest it returns.
checkpoint::Manifest begin_with_weights(const spec::RunSpec& spec,
                                        const std::string& deck,
                                        const comm::Context& world,
                                        const HeldState& state,
                                        Reporter& reporter) {
    const auto begin_ns = monotonic_ns();
    checkpoint::ReadChoice choice{spec.model.init_path, checkpoint::ReadCheck::hashes,
                                  [&](const auto& note) { reporter.say(message(Severity::note, note)); }};
    std::optional<checkpoint::CheckpointReader> chosen;  // of rank 0, its files held
    while (true) {
        const auto decision = decide_on_first(world, [&]() -> Decision {
            chosen.emplace(choice.open());
            expect_same_alpha(chosen->manifest(), deck, chosen->path());
            return {chosen->path(), false, to_text(chosen->manifest())};
        });
        auto elsewhere = open_elsewhere(world, decision);
        checkpoint::CheckpointReader& reader = elsewhere ? *elsewhere : *chosen;
        show_bytes(reader, reporter.busy("loads weights", "bytes"));
        try {
            const auto loaded = load_weights(world, state, reader);
            reporter.say(fmt::format("begins with the weights of {}, of step {}; read {} in {}",
                                     decision.path, reader.manifest().progress.step,
                                     format_bytes(loaded.bytes_read),
                                     format_duration(seconds_between(begin_ns, monotonic_ns()))));
            return reader.manifest();
        } catch (const Error& error) {
            if (!is_of_reading(error) || !gives_another(world, choice, reader)) {
                throw;
            }
        }
    }
}

}  // namespace

Resumed resume(const spec::RunSpec& spec,
               const std::string& deck,
               const comm::Context& world,
               const HeldState& state,
               Reporter& reporter,
               const TrainingData& data) {
    std::optional<ResumeChoice> choice;                  // of rank 0
    std::optional<checkpoint::CheckpointReader> chosen;  // of rank 0, its files held
    std::string trouble;                                 // with what was chosen before; the same on all ranks
    while (true) {
        const auto decision = decide_on_first(world, [&]() -> Decision {
            if (choice) {
                choice->pass_over(*chosen, trouble);
            } else {
                choice.emplace(spec);
            }
            chosen = choice->open();
            if (!chosen) {
                return {};
            }
            auto manifest = chosen->manifest();
            std::vector<checkpoint::DeckChange> changes;
            if (!deck.empty()) {
                changes = compare_decks(manifest.deck, deck, reporter);
            }
            const bool is_finished =
                choice->is_own() &&
                manifest.progress.step >= TrainingCourse{spec, manifest.progress}.end_step();
            if (!is_finished) {
                compare_course(spec, manifest, changes, reporter);
                if (data.order.is_known()) {
                    manifest.progress.order = compare_data(spec, manifest, changes, data, reporter);
                }
            }
            return {chosen->path(), choice->is_own(), to_text(manifest)};
        });
        if (decision.path.empty()) {
            Resumed afresh;
            if (spec.model.is_init_published) {
                begin_with_published_weights(spec, world, state, reporter);
                afresh.lacks_adapters = spec.model.lora.is_on();
            } else if (!spec.model.init_path.empty()) {
                const auto before = begin_with_weights(spec, deck, world, state, reporter);
                afresh.lacks_adapters = spec.model.lora.is_on() && !has_adapters(before);
            }
            return afresh;
        }
        const auto begin_ns = monotonic_ns();
        auto elsewhere = open_elsewhere(world, decision);
        checkpoint::CheckpointReader& reader = elsewhere ? *elsewhere : *chosen;
        show_bytes(reader, reporter.busy("loads the checkpoint", "bytes"));
        try {
            const auto loaded = load_state(world, state, reader);
            for (const auto& note : choice ? choice->notes() : std::vector<std::string>{}) {
                reporter.say(message(Severity::note, note));
            }
            for (const auto& tensor : loaded.without_moments) {
                reporter.say(message(
                    Severity::note,
                    fmt::format("'{}' was frozen in the checkpoint: its moments begin at zero", tensor)));
            }
            Resumed resumed{.path = decision.path,
                            .is_own = decision.is_own,
                            .progress = manifest_of(decision).progress,
                            .bytes_read = loaded.bytes_read};
            reporter.say(
                resumed_line(spec, resumed, reader.manifest(), seconds_between(begin_ns, monotonic_ns())));
            return resumed;
        } catch (const Error& error) {
            // A disk that fails for what was removed says so in its own way.
            const bool may_be_damaged = error.kind() == ErrorKind::checkpoint;
            if (!misfit(state.model.table, reader.manifest()).empty() ||
                !(may_be_damaged || was_removed(world, error, chosen))) {
                throw;
            }
            trouble = error.what();
        }
    }
}

}  // namespace ziggurat::train
