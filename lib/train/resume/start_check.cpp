#include "train/resume/start_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/catalogue/deck_changes.hpp"
#include "checkpoint/catalogue/input_checkpoints.hpp"
#include "checkpoint/catalogue/weight_changes.hpp"
#include "checkpoint/hf/hf_weights.hpp"
#include "layout/families/family.hpp"
#include "train/control/training_schedule.hpp"
#include "train/resume/freeze_notes.hpp"
#include "train/resume/schedule_change.hpp"
#include "train/save/load_state.hpp"

namespace ziggurat::train {
namespace {

using checkpoint::DeckChange;

void add(std::vector<std::string>& all, std::vector<std::string> more) {
    std::ranges::move(more, std::back_inserter(all));
}

void add(std::vector<std::string>& all, std::string line) {
    if (!line.empty()) {
        all.push_back(std::move(line));
    }
}

std::vector<checkpoint::Piece> weights_of(const checkpoint::Manifest& manifest) {
    std::vector<checkpoint::Piece> weights;
    for (const auto& stored : manifest.pieces) {
        if (stored.piece.kind == checkpoint::PieceKind::weights) {
            weights.push_back(stored.piece);
        }
    }
    return weights;
}

/// Returns and reports the differences between the two decks. Throws if the models differ.
std::vector<DeckChange> compare_decks(const std::string& before,
                                      const std::string& now,
                                      StartReport& report) {
    auto found = checkpoint::changes(before, now);
    if (const auto refusal = checkpoint::refusal(found); !refusal.empty()) {
        throw Error{ErrorKind::deck, refusal};
    }
    add(report.warnings, checkpoint::warnings(found));
    add(report.notes, checkpoint::note(found));
    return found;
}

/// Throws if the run in run.dir did not start from the checkpoint that run.resume names.
void expect_same_origin(const StartRequest& intent,
                        const std::vector<DeckChange>& deck,
                        const std::string& chosen,
                        std::int64_t step) {
    for (const auto& change : deck) {
        if (change.key == "run.resume") {
            throw Error{
                ErrorKind::deck,
                fmt::format("cannot start from '{}' in '{}' (run.resume names it, but run.dir has "
                            "checkpoints up to step {} of a run that did not start from it: its run.resume "
                            "was {}). Resume from '{}' with run.resume=auto, or set another run.dir.",
                            printable(intent.spec.run.resume_path), printable(intent.spec.run.dir), step,
                            change.before, printable(chosen))};
        }
    }
}

/// Compares the length of the run, the learning rate and the dropout masks.
void compare_course(const StartRequest& intent,
                    const checkpoint::Manifest& manifest,
                    const std::vector<DeckChange>& deck,
                    StartReport& report) {
    auto course = check_schedule(intent.spec, manifest.progress, deck);
    add(report.warnings, std::move(course.warnings));
    add(report.notes, std::move(course.notes));
    for (const auto& change : deck) {
        if (change.key == "run.seed" && intent.spec.model.dropout > 0) {
            report.warnings.push_back(checkpoint::describe(change) +
                                      ": dropout uses other masks from here on");
        }
    }
}

/// Returns the order of the samples that follow.
data::DataOrderState compare_data(const StartRequest& intent,
                                  const checkpoint::Manifest& manifest,
                                  const std::vector<DeckChange>& deck,
                                  StartReport& report) {
    auto verdict = check_data(manifest, deck, intent.data, intent.spec.run.accept_data_change);
    if (!verdict.refusal.empty()) {
        throw Error{ErrorKind::deck, verdict.refusal};
    }
    add(report.warnings, std::move(verdict.warnings));
    add(report.notes, std::move(verdict.notes));
    return std::move(verdict.order);
}

/// Compares deck keys that change the interpretation of weights.
///
/// Throws unless the deck accepts the change.
void compare_meaning(const std::string& before,
                     const std::string& now,
                     const std::string& path,
                     StartReport& report) {
    auto found = checkpoint::weight_changes(before, now, path);
    if (!found.refusal.empty()) {
        throw Error{ErrorKind::deck, found.refusal};
    }
    add(report.warnings, std::move(found.warnings));
    add(report.notes, std::move(found.notes));
}

/// Throws if the checkpoint has adapters and its train.lora.alpha differs from that of the deck.
void expect_same_alpha(const checkpoint::Manifest& before, const std::string& now, const std::string& path) {
    if (now.empty() || !has_adapters(before)) {
        return;
    }
    for (const auto& change : checkpoint::changes(before.deck, now)) {
        if (change.key == "train.lora.alpha") {
            throw Error{
                ErrorKind::deck,
                fmt::format("the adapters of '{}' need another scale ({}). Use the checkpoint's value in "
                            "the deck, or merge them first: `ziggurat export --merge`.",
                            path, describe(change))};
        }
    }
}

}  // namespace

StartCheck check_resume(const StartRequest& intent,
                        const ResumeChoice& choice,
                        const checkpoint::CheckpointReader& chosen) {
    StartCheck checked{.manifest = chosen.manifest(), .is_finished = false, .report = {}};
    if (!intent.deck.empty()) {
        checked.deck = checkpoint::with_recorded_inputs(checked.manifest.deck, intent.deck);
    }
    auto& progress = checked.manifest.progress;
    add(checked.report.warnings, choice.loss());
    if (checked.report.warnings.empty()) {
        checked.report.notes = choice.notes();
    }
    std::vector<DeckChange> changes;
    if (!intent.deck.empty()) {
        changes = compare_decks(checked.manifest.deck, checked.deck, checked.report);
    }
    if (choice.is_instead_of_named()) {
        expect_same_origin(intent, changes, chosen.path(), progress.step);
    }
    const auto table = layout::family_table(intent.spec);
    expect_same_tensors(table, checked.manifest, chosen.path());
    add(checked.report.notes, unfrozen_note(table, checked.manifest));
    add(checked.report.notes, rounded_note(intent.spec, table, weights_of(checked.manifest)));
    checked.is_finished =
        choice.is_own() && progress.step >= TrainingSchedule{intent.spec, progress}.end_step();
    if (!checked.is_finished) {
        compare_course(intent, checked.manifest, changes, checked.report);
        if (intent.data.order.is_known()) {
            progress.order = compare_data(intent, checked.manifest, changes, checked.report);
        }
    }
    return checked;
}

StartReport check_weights(const StartRequest& intent, const checkpoint::CheckpointReader& chosen) {
    StartReport report;
    if (!intent.deck.empty()) {
        compare_meaning(chosen.manifest().deck, intent.deck, chosen.path(), report);
    }
    expect_same_alpha(chosen.manifest(), intent.deck, chosen.path());
    const auto table = layout::family_table(intent.spec);
    expect_same_weights(table, chosen.manifest(), chosen.path());
    add(report.notes, rounded_note(intent.spec, table, weights_of(chosen.manifest())));
    return report;
}

StartReport check_hf_weights(const StartRequest& intent) {
    const auto& model = intent.spec.model;
    const checkpoint::hf::HfWeights weights{model.init_path, model};
    StartReport report;
    add(report.notes, rounded_note(intent.spec, layout::family_table(intent.spec), weights.pieces()));
    return report;
}

}  // namespace ziggurat::train
