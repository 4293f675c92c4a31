#include "train/save/resume_choice.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/held_files.hpp"
#include "checkpoint/read_choice.hpp"
#include "train/save/checkpointer.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

/// After so many, another training removes checkpoints faster than this one reads them.
constexpr int most_removals = 10;

fs::path resolved(const fs::path& path) {
    std::error_code error;
    auto absolute = fs::weakly_canonical(path, error);
    return error ? path : absolute;
}

}  // namespace

ResumeChoice::ResumeChoice(const spec::RunSpec& spec) {
    const auto root = checkpoint_root(spec);
    switch (spec.run.resume) {
        case spec::Resume::never:
            return;
        case spec::Resume::automatic:
            choose_newest(root, false);
            return;
        case spec::Resume::must:
            choose_newest(root, true);
            return;
        case spec::Resume::path:
            choose_named(spec, root);
            return;
    }
}

void ResumeChoice::choose_newest(const std::string& root, bool is_needed) {
    const auto found = checkpoint::find_newest(root);
    root_ = root;
    path_ = found.path;
    notes_.insert(notes_.end(), found.notes.begin(), found.notes.end());
    if (path_ || (found.is_empty && !is_needed)) {
        return;
    }
    std::string passed_over;
    for (const auto& note : notes_) {
        passed_over += "\n  " + note;
    }
    throw Error{ErrorKind::checkpoint,
                found.is_empty
                    ? fmt::format("there is no checkpoint in '{}' (run.resume needs one). Check run.dir, or "
                                  "begin afresh with run.resume=auto.",
                                  root)
                    : fmt::format("no checkpoint in '{}' can be used (each is damaged or not complete). Look "
                                  "at them with `ziggurat inspect --verify`, name one with run.resume=PATH, "
                                  "or begin afresh in another run.dir.{}",
                                  root, passed_over)};
}

void ResumeChoice::choose_named(const spec::RunSpec& spec, const std::string& root) {
    const fs::path named = spec.run.resume_path;
    const auto own = checkpoint::list_complete(root);
    if (resolved(named).parent_path() == resolved(root)) {
        const auto step = checkpoint::step_of_folder(named.string());
        const auto newest = own.empty() ? std::nullopt : checkpoint::step_of_folder(own.back());
        if (step && newest && *newest > *step) {
            throw Error{
                ErrorKind::deck,
                fmt::format("cannot go on from '{}' in its own run.dir (there are newer checkpoints, up "
                            "to step {}, which the new ones would be mixed with). Move those away, or "
                            "set another run.dir.",
                            named.string(), *newest)};
        }
        path_ = named.string();
        return;
    }
    if (!own.empty()) {
        // The same command was started before and has come further.
        choose_newest(root, true);
        if (resolved(named) != resolved(spec.run.dir)) {
            notes_.push_back(
                fmt::format("run.dir has checkpoints of its own: '{}', which run.resume names, "
                            "is not looked at",
                            named.string()));
        }
        return;
    }
    is_own_ = false;
    std::error_code error;
    if (fs::exists(named / "COMPLETE", error)) {
        path_ = named.string();
    } else {
        choose_newest((named / "ckpt").string(), true);
    }
}

std::optional<checkpoint::CheckpointReader> ResumeChoice::open() {
    while (path_) {
        try {
            checkpoint::CheckpointReader reader{*path_};
            reader.hold();
            return reader;
        } catch (const Error&) {
            if (checkpoint::is_there(*path_)) {
                throw;
            }
        }
        look_again();
    }
    return std::nullopt;
}

void ResumeChoice::look_again() {
    if (root_.empty() || ++removals_ == most_removals) {
        throw checkpoint::removed_meanwhile(*path_);
    }
    choose_newest(root_, true);
}

void ResumeChoice::pass_over(const checkpoint::CheckpointReader& failed, const std::string& why) {
    if (!failed.is_in_place()) {
        notes_.push_back(
            fmt::format("'{}' was removed by its training while it was being read", failed.path()));
        look_again();
        return;
    }
    const auto step = path_ ? checkpoint::step_of_folder(*path_) : std::nullopt;
    if (root_.empty() || !step) {
        throw Error{ErrorKind::checkpoint, why};
    }
    notes_.push_back(fmt::format("'{}' is passed over: {}", *path_, why));
    const auto older = checkpoint::find_newest(root_, *step);
    notes_.insert(notes_.end(), older.notes.begin(), older.notes.end());
    path_ = older.path;
    if (!path_) {
        std::string passed_over;
        for (const auto& note : notes_) {
            passed_over += "\n  " + note;
        }
        throw Error{ErrorKind::checkpoint,
                    fmt::format("no checkpoint in '{}' can be read (each is damaged). Look at them with "
                                "`ziggurat inspect --verify`, or begin afresh in another run.dir.{}",
                                root_, passed_over)};
    }
}

}  // namespace ziggurat::train
