#include "checkpoint/catalogue/read_choice.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/text/printable.hpp"
#include "checkpoint/catalogue/catalogue.hpp"
#include "checkpoint/checkpoint_files.hpp"

namespace ziggurat::checkpoint {
namespace {

/// Removals after which the call fails: the training saves faster than this process reads.
constexpr int max_removals = 10;

constexpr const char* remedy =
    "let its training keep more checkpoints (checkpoint.keep.last, or checkpoint.keep.milestones, which are "
    "never removed)";

}  // namespace

Error removed_meanwhile(const std::string& path) {
    return {ErrorKind::checkpoint,
            fmt::format("'{}' was removed while it was being read (a running training keeps only the newest "
                        "checkpoints). Name the run to read its newest one, or {}.",
                        printable(path), remedy)};
}

CheckpointSelector::CheckpointSelector(std::string named,
                                       ReadCheck check,
                                       std::function<void(const std::string&)> note)
    : named_{std::move(named)}, check_{check}, note_{std::move(note)} {}

CheckpointReader CheckpointSelector::open() {
    for (;;) {
        std::vector<std::string> notes;
        const auto path = check_ == ReadCheck::sizes ? choose(named_, notes) : choose_verified(named_, notes);
        try {
            CheckpointReader reader{path};
            reader.hold();
            for (const auto& note : notes) {
                note_(note);
            }
            return reader;
        } catch (const Error&) {
            if (is_present(path)) {
                throw;
            }
        }
        expect_another(path);
    }
}

bool CheckpointSelector::select_next(const CheckpointReader& failed) {
    if (failed.is_in_place()) {
        return false;
    }
    expect_another(failed.path());
    note_(fmt::format(
        "'{}' was removed by its training while it was being read: the newest remaining one is used",
        printable(failed.path())));
    return true;
}

void CheckpointSelector::expect_another(const std::string& removed) {
    if (names_one_checkpoint(named_)) {
        throw removed_meanwhile(removed);
    }
    if (++removals_ == max_removals) {
        throw Error{
            ErrorKind::checkpoint,
            fmt::format("checkpoints of '{}' were removed {} times while they were being read (the last was "
                        "'{}'): the training saves faster than this command reads. Instead, {}.",
                        printable(named_), removals_, printable(removed), remedy)};
    }
}

void read_during_training(const std::string& named,
                          ReadCheck check,
                          const std::function<void(const std::string&)>& note,
                          const std::function<void(CheckpointReader&)>& use) {
    CheckpointSelector choice{named, check, note};
    for (;;) {
        auto reader = choice.open();
        try {
            use(reader);
            return;
        } catch (const Error&) {
            if (!choice.select_next(reader)) {
                throw;
            }
        }
    }
}

}  // namespace ziggurat::checkpoint
