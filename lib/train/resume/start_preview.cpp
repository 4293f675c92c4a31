#include "train/resume/start_preview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text/printable.hpp"
#include "checkpoint/catalogue/read_choice.hpp"
#include "train/control/training_schedule.hpp"
#include "train/report/run_directory.hpp"

namespace ziggurat::train {
namespace {

StartPreview outlook_of_weights(const StartRequest& intent) {
    const auto& model = intent.spec.model;
    StartPreview outlook;
    if (model.init_path.empty()) {
        return outlook;
    }
    outlook.line = fmt::format("with the weights of {}", printable(model.init_path));
    if (model.is_init_published) {
        outlook.report = check_hf_weights(intent);
        return outlook;
    }
    checkpoint::read_during_training(
        model.init_path, checkpoint::ReadCheck::hashes,
        [&](const std::string& note) { outlook.report.notes.push_back(note); },
        [&](checkpoint::CheckpointReader& reader) {
            auto report = check_weights(intent, reader);
            outlook.report.warnings = std::move(report.warnings);
            std::ranges::move(report.notes, std::back_inserter(outlook.report.notes));
            outlook.line = fmt::format("with the weights of {}, of step {}", printable(reader.path()),
                                       reader.manifest().progress.step);
        });
    return outlook;
}

}  // namespace

StartPreview preview_start(const StartRequest& intent) {
    ResumeChoice choice{intent.spec};
    const auto chosen = choice.open();
    if (!chosen) {
        if (intent.spec.run.resume == spec::Resume::never) {
            expect_no_checkpoints(intent.spec.run.dir);
        }
        return outlook_of_weights(intent);
    }
    auto checked = check_resume(intent, choice, *chosen);
    const auto& progress = checked.manifest.progress;
    const auto end = TrainingSchedule{intent.spec, progress}.end_step();
    return {checked.is_finished
                ? fmt::format("no steps remain: step {} of {} is done, according to {}", progress.step, end,
                              printable(chosen->path()))
                : fmt::format("after step {} of {}, from {}", progress.step, end, printable(chosen->path())),
            std::move(checked.report)};
}

}  // namespace ziggurat::train
