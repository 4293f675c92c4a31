#include "train/resume/resume_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "checkpoint/catalogue/read_choice.hpp"
#include "checkpoint/checkpoint_files.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "train/resume/lost_checkpoints.hpp"
#include "train/save/checkpointer.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

/// Number of removals after which the selection stops.
///
/// Another training then removes checkpoints faster than this process reads them.
constexpr int max_removals = 10;

fs::path resolved(const fs::path& path) {
    std::error_code error;
    auto absolute = fs::weakly_canonical(path, error);
    return error ? path : absolute;
}

}  // namespace

ResumeChoice::ResumeChoice(const spec::RunSpec& spec) {
    expect_reachable_checkpoints(spec.run.dir);
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

std::string ResumeChoice::listed_notes() const {
    std::string lines;
    for (const auto& note : notes_) {
        lines += "\n  " + note;
    }
    return lines;
}

void ResumeChoice::take(const checkpoint::FoundCheckpoint& found) {
    path_ = found.path;
    saved_step_ = std::max(saved_step_, found.saved_step);
    notes_.insert(notes_.end(), found.notes.begin(), found.notes.end());
}

void ResumeChoice::choose_newest(const std::string& root, bool is_needed) {
    const auto found = checkpoint::find_newest(root);
    root_ = root;
    take(found);
    if (path_) {
        return;
    }
    if (!found.is_empty) {
        throw Error{ErrorKind::checkpoint,
                    fmt::format("no checkpoint in '{}' can be used (each is corrupt or incomplete). Check "
                                "them with `ziggurat inspect --verify`, name one with run.resume=PATH, "
                                "or start from scratch in another run.dir.{}",
                                root, listed_notes())};
    }
    expect_never_saved(fs::path{root}.parent_path().string());
    if (is_needed) {
        throw Error{ErrorKind::checkpoint,
                    fmt::format("there is no checkpoint in '{}' (run.resume needs one). Check run.dir, or "
                                "start from scratch with run.resume=auto.",
                                root)};
    }
}

std::string ResumeChoice::loss() const {
    const auto step = path_ ? checkpoint::step_of_folder(*path_) : std::nullopt;
    if (!step || saved_step_ <= *step) {
        return "";
    }
    const auto lost = saved_step_ - *step;
    return fmt::format("resumes from step {}, although step {} was saved: {} trained again{}", *step,
                       saved_step_, lost == 1 ? "1 step is" : fmt::format("{} steps are", lost),
                       listed_notes());
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
                fmt::format("cannot resume from '{}' in its own run.dir: newer checkpoints exist, up to "
                            "step {}. Move them away, or set another run.dir.",
                            named.string(), *newest)};
        }
        path_ = named.string();
        return;
    }
    if (!own.empty()) {
        choose_newest(root, true);
        is_instead_of_named_ = resolved(named) != resolved(spec.run.dir);
        return;
    }
    expect_never_saved(spec.run.dir);
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
            if (checkpoint::is_present(*path_)) {
                throw;
            }
        }
        look_again();
    }
    return std::nullopt;
}

void ResumeChoice::look_again() {
    if (root_.empty() || ++removals_ == max_removals) {
        throw checkpoint::removed_meanwhile(*path_);
    }
    choose_newest(root_, true);
}

void ResumeChoice::skip_checkpoint(const checkpoint::CheckpointReader& failed, const std::string& reason) {
    if (!failed.is_in_place()) {
        notes_.push_back(
            fmt::format("'{}' was removed by its training while it was being read", failed.path()));
        look_again();
        return;
    }
    const auto step = path_ ? checkpoint::step_of_folder(*path_) : std::nullopt;
    if (root_.empty() || !step) {
        throw Error{ErrorKind::checkpoint, reason};
    }
    notes_.push_back(fmt::format("skips '{}': {}", *path_, reason));
    take(checkpoint::find_newest(root_, *step));
    if (!path_) {
        throw Error{ErrorKind::checkpoint,
                    fmt::format("no checkpoint in '{}' can be read (each is corrupt). Check them with "
                                "`ziggurat inspect --verify`, or start from scratch in another run.dir.{}",
                                root_, listed_notes())};
    }
}

}  // namespace ziggurat::train
