#include "train/save/start_outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/printable.hpp"
#include "checkpoint/read_choice.hpp"
#include "train/control/training_course.hpp"
#include "train/report/run_directory.hpp"

namespace ziggurat::train {
namespace {

StartOutlook outlook_of_weights(const Intent& intent) {
    const auto& model = intent.spec.model;
    StartOutlook outlook;
    if (model.init_path.empty()) {
        return outlook;
    }
    outlook.line = fmt::format("with the weights of {}", printable(model.init_path));
    if (model.is_init_published) {
        outlook.news = judge_published_weights(intent);
        return outlook;
    }
    checkpoint::read_beside_training(
        model.init_path, checkpoint::ReadCheck::hashes,
        [&](const std::string& note) { outlook.news.notes.push_back(note); },
        [&](checkpoint::CheckpointReader& reader) {
            auto news = judge_weights(intent, reader);
            outlook.news.warnings = std::move(news.warnings);
            std::ranges::move(news.notes, std::back_inserter(outlook.news.notes));
            outlook.line = fmt::format("with the weights of {}, of step {}", printable(reader.path()),
                                       reader.manifest().progress.step);
        });
    return outlook;
}

}  // namespace

StartOutlook look_ahead(const Intent& intent) {
    ResumeChoice choice{intent.spec};
    const auto chosen = choice.open();
    if (!chosen) {
        if (intent.spec.run.resume == spec::Resume::never) {
            expect_no_checkpoints(intent.spec.run.dir);
        }
        return outlook_of_weights(intent);
    }
    auto judged = judge_resume(intent, choice, *chosen);
    const auto& progress = judged.manifest.progress;
    const auto end = TrainingCourse{intent.spec, progress}.end_step();
    return {judged.is_finished
                ? fmt::format("no steps remain: step {} of {} is done, according to {}", progress.step, end,
                              printable(chosen->path()))
                : fmt::format("after step {} of {}, from {}", progress.step, end, printable(chosen->path())),
            std::move(judged.news)};
}

}  // namespace ziggurat::train
