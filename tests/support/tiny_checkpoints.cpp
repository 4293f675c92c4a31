#include "tests/support/tiny_checkpoints.hpp"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "comm/control.hpp"
#include "train/console/console.hpp"
#include "train/report/reporter.hpp"
#include "train/resume/resume.hpp"
#include "train/trainer.hpp"

namespace ziggurat::test {

namespace fs = std::filesystem;

namespace {

std::string made_folder() {
    const bool has_memory = ::access("/dev/shm", W_OK) == 0;
    const fs::path parent = has_memory ? fs::path{"/dev/shm"} : fs::temp_directory_path();
    std::string name = (parent / "ziggurat.XXXXXX").string();
    return mkdtemp(name.data());
}

}  // namespace

SharedFolder::SharedFolder(const comm::Context& group)
    : group_{group}, path_{comm::broadcast(group, group.rank() == 0 ? made_folder() : "")} {}

SharedFolder::~SharedFolder() {
    if (std::uncaught_exceptions() > 0) {
        return;  // this rank ends the job, and other ranks do not come to the barrier
    }
    comm::barrier(group_);
    if (group_.rank() == 0) {
        fs::remove_all(path_);
    }
}

SavedOutcome train_and_save(const spec::RunSpec& run,
                            const comm::Context& group,
                            Keep keep,
                            std::int64_t last_step,
                            const AfterStep& after_step) {
    const train::RunContext context{.version = "test", .libraries = "", .command = "", .effective_deck = ""};
    train::Console console{train::Console::quiet};
    train::Reporter reporter{run, context, group, console};
    train::TimeAccounting account;
    SavedOutcome outcome;
    std::optional<train::Checkpointer> checkpointer;
    train::Assembly* assembly = nullptr;
    const auto progress = [&](std::int64_t step) {
        return checkpoint::TrainingProgress{.step = step,
                                            .tokens = step * run.train.global_batch * run.data.seq,
                                            .next_sample = step * run.train.global_batch};
    };

    TinyHooks hooks;
    hooks.begin = [&](train::Assembly& made) {
        assembly = &made;
        const auto resumed = train::resume(run, "", made.world(), made.state(), reporter);
        outcome.steps_before = resumed.progress.step;
        outcome.bytes_read = resumed.bytes_read;
        reporter.open(resumed.is_own ? std::optional{resumed.progress.step} : std::nullopt);
        checkpointer.emplace(run, context, made.world(), made.state(), made.step_requests(), reporter,
                             account, resumed.is_own ? resumed.progress.step : -1);
        return resumed.progress.step;
    };
    hooks.between_ops = [&] { checkpointer->check_now(); };
    hooks.after_step = [&](std::int64_t step) {
        if (after_step) {
            after_step(*checkpointer, step);
        }
        try {
            if (step < last_step) {
                checkpointer->after_step(step, progress(step).tokens, assembly->outcome().step_requests,
                                         [&] { return progress(step); });
            }
        } catch (const Error& error) {
            outcome.error = error.what();
        }
        return step < last_step && outcome.error.empty();
    };
    const auto look = [&](const train::Assembly& made) {
        outcome.bytes_moved = made.bytes_moved();
        if (outcome.error.empty()) {
            checkpointer->finish(progress(last_step));
        }
        outcome.saved_step = checkpointer->saved_step();
        outcome.bytes_on_disk = checkpointer->bytes();
        checkpointer.reset();  // before the assembly, which owns the saved state
    };
    outcome.training = train_tiny(run, group, keep, look, hooks);
    return outcome;
}

}  // namespace ziggurat::test
