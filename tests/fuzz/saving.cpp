#include "tests/fuzz/saving.hpp"

#include <fmt/format.h>

#include "train/resume/resume.hpp"

namespace ziggurat::test {

Saving::Saving(const spec::RunSpec& run, const comm::Context& group, train::Assembly& assembly)
    : reporter_{run, context_, group, console_}, assembly_{assembly} {
    const auto resumed = train::resume(run, "", assembly.world(), assembly.state(), reporter_);
    before_ = resumed.progress;
    reporter_.open(resumed.is_own ? std::optional{before_.step} : std::nullopt);
    checkpointer_.emplace(run, context_, assembly.world(), assembly.state(), assembly.step_requests(),
                          reporter_, account_, resumed.is_own ? before_.step : -1);
    assembly.train_executor().between_ops([this] { checkpointer_->check_now(); });
}

void Saving::after_step(const checkpoint::TrainingProgress& progress) {
    checkpointer_->after_step(progress.step, progress.tokens, assembly_.outcome().step_requests,
                              [&] { return progress; });
}

void Saving::finish(const checkpoint::TrainingProgress& progress) {
    checkpointer_->finish(progress);
    assembly_.train_executor().between_ops({});
}

std::string checkpoint_folder(const spec::RunSpec& run, std::int64_t step) {
    return fmt::format("{}/ckpt/step-{:09}", run.run.dir, step);
}

}  // namespace ziggurat::test
