#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "checkpoint/check_manifest.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/manifest_text.hpp"
#include "checkpoint/master_file.hpp"
#include "checkpoint/recorded_deck.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* unfinished = ".tmp";
constexpr const char* superseded = ".superseded";

/// Creates a folder. Returns true if it did not exist.
bool create_folder(const std::string& path) {
    std::error_code problem;
    const bool is_new = fs::create_directories(path, problem);
    if (problem) {
        throw Error{ErrorKind::resource, fmt::format("cannot create '{}' ({}). Check run.dir and its rights.",
                                                     path, problem.message())};
    }
    return is_new;
}

void remove_quietly(const std::string& path) noexcept {
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

/// Renames made so far; the destructor reverts them unless keep() was called.
class Renames {
  public:
    Renames() = default;
    Renames(const Renames&) = delete;
    Renames& operator=(const Renames&) = delete;
    ~Renames() {
        std::error_code ignored;
        for (auto change = made_.rbegin(); change != made_.rend(); ++change) {
            if (change->is_exchange) {
                exchange_quietly(change->from, change->to);
            } else {
                fs::rename(change->to, change->from, ignored);
            }
        }
    }

    void rename(const std::string& from, const std::string& to) {
        storage::rename_path(from, to);
        made_.push_back({from, to, false});
    }
    /// Exchanges two names. Returns false if the file system does not support it.
    bool exchange(const std::string& a, const std::string& b) {
        const bool is_done = storage::exchange_paths(a, b);
        if (is_done) {
            made_.push_back({a, b, true});
        }
        return is_done;
    }
    void keep() noexcept { made_.clear(); }

  private:
    struct Rename {
        std::string from;
        std::string to;
        bool is_exchange = false;
    };

    static void exchange_quietly(const std::string& a, const std::string& b) noexcept {
        try {
            storage::exchange_paths(a, b);
        } catch (const Error&) {  // keeps the newer one, which is complete
        }
    }

    std::vector<Rename> made_;
};

/// Renames `folder` to `final_path`.
///
/// A previous entry of that name is moved to `old` or, if the file system supports atomic exchange, to
/// `folder`. With atomic exchange, `final_path` exists at every instant, even if the job dies.
void put_in_place(const std::string& folder,
                  const std::string& final_path,
                  const std::string& old,
                  Renames& renames) {
    std::error_code ignored;
    if (fs::exists(final_path, ignored)) {
        if (renames.exchange(folder, final_path)) {
            return;
        }
        renames.rename(final_path, old);
    }
    renames.rename(folder, final_path);
}

/// Returns an unused name for setting `path` aside.
std::string free_name(const std::string& path) {
    std::string name = path + superseded;
    std::error_code ignored;
    for (int number = 2; fs::exists(fs::symlink_status(name, ignored)); ++number) {
        name = fmt::format("{}{}{}", path, superseded, number);
    }
    return name;
}

/// Rejects an inconsistent manifest: readers would refuse it, and the checkpoint would be lost.
void check_before_writing(const Manifest& manifest) {
    try {
        check_manifest(manifest);
    } catch (const std::invalid_argument& problem) {
        throw Error{ErrorKind::internal,
                    fmt::format("the checkpoint of step {} is inconsistent ({}). It was not written; the "
                                "previous checkpoint still exists.",
                                manifest.progress.step, printable(problem.what()))};
    }
}

/// Distinguishes checkpoints of one run from those of others in the same folder.
///
/// Only a folder that is a symbolic link can have checkpoints of several runs: in the run directory itself,
/// all of them belong to the run, even if it was renamed.
class OwnCheckpoints {
  public:
    OwnCheckpoints(const std::string& root, const std::string& deck) {
        std::error_code ignored;
        is_link_ = fs::is_symlink(fs::symlink_status(root, ignored));
        run_ = is_link_ ? recorded_run_of(deck) : std::nullopt;
    }

    bool has(const std::string& path) const {
        if (!is_link_) {
            return true;
        }
        try {
            return run_ && recorded_run_of(read_manifest(path).deck) == run_;
        } catch (const Error&) {
            return false;
        }
    }

  private:
    bool is_link_ = false;
    std::optional<std::string> run_;
};

/// Returns the complete checkpoints that `keep` does not cover. `newest` is the one just written.
std::vector<std::string> let_go(const std::string& root,
                                std::int64_t newest,
                                const RetentionPolicy& keep,
                                const OwnCheckpoints& own) {
    std::vector<std::string> gone;
    std::int64_t kept = 0;
    std::vector<std::string> complete = list_complete(root);
    for (auto path = complete.rbegin(); path != complete.rend(); ++path) {
        const std::int64_t step = *step_of_folder(*path);
        if (step > newest || !own.has(*path)) {
            continue;
        }
        if (kept < std::max<std::int64_t>(keep.last, 1)) {
            // A damaged checkpoint stays for inspection, but does not count as kept.
            try {
                kept += read_manifest(*path).progress.step == step ? 1 : 0;
            } catch (const Error&) {}
        } else if (const bool is_milestone = keep.every_steps > 0 && step % keep.every_steps == 0;
                   !is_milestone && std::ranges::find(keep.best, step) == keep.best.end()) {
            gone.push_back(*path);
        }
    }
    return gone;
}

/// Removes a checkpoint. Renames it first, so that no partly removed checkpoint has a valid name.
void remove_checkpoint(const std::string& root, const std::string& path) {
    const std::string going = path + unfinished;
    storage::rename_path(path, going);
    storage::flush_directory(root);
    std::error_code problem;
    fs::remove_all(going, problem);
    if (problem) {
        throw Error{ErrorKind::resource,
                    fmt::format("cannot remove '{}' ({}). Remove it by hand.", going, problem.message())};
    }
}

void write_latest(const std::string& root, const std::string& name, const std::string& text_of_manifest) {
    storage::write_small_file(root + "/LATEST" + unfinished,
                              fmt::format("{} {:016x}\n", name, hash_of_manifest(text_of_manifest)));
}

/// Reads LATEST; returns nullopt if it does not exist or cannot be read.
std::optional<Latest> readable_latest(const std::string& root) {
    try {
        return read_latest(root);
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// Updates LATEST if a job died between the rename of a checkpoint and that of LATEST.
void mend_latest(const std::string& root) {
    const auto complete = list_complete(root);
    const auto latest = readable_latest(root);
    const auto name = complete.empty() ? "" : fs::path{complete.back()}.filename().string();
    const auto text = complete.empty() ? std::nullopt : read_manifest_text(complete.back());
    if (text && latest != Latest{name, hash_of_manifest(*text)}) {
        write_latest(root, name, *text);
        storage::rename_path(root + "/LATEST" + unfinished, root + "/LATEST");
        storage::flush_directory(root);
    }
}

}  // namespace

void remove_unfinished(const std::string& root) {
    std::error_code problem;
    for (fs::directory_iterator entry{root, problem}; !problem && entry != fs::directory_iterator{};
         entry.increment(problem)) {
        const std::string name = entry->path().filename().string();
        if (name.ends_with(unfinished) && (name.starts_with("step-") || name.starts_with("LATEST"))) {
            remove_quietly(entry->path().string());
        }
    }
}

void repair_folder(const std::string& root) {
    remove_unfinished(root);
    try {
        mend_latest(root);
    } catch (const Error&) {
        // A read-only folder can still be read.
    }
}

Commit::Commit(std::string root, std::int64_t step)
    : root_{std::move(root)}, folder_{root_ + "/" + folder_name(step) + unfinished}, step_{step} {
    if (create_folder(root_)) {
        // Without this flush, a complete checkpoint's folder can be lost at a power failure.
        storage::flush_directory(fs::absolute(root_).parent_path().string());
    }
    remove_unfinished(root_);
    create_folder(folder_);
}

Commit::~Commit() {
    if (!is_finished_) {
        remove_quietly(folder_);
    }
}

std::vector<std::string> Commit::finish(Manifest manifest, const RetentionPolicy& keep) {
    ZG_EXPECTS(manifest.progress.step == step_);
    const std::string final_path = root_ + "/" + folder_name(step_);
    const std::string latest = root_ + "/LATEST";
    const std::string new_latest = latest + unfinished;
    const std::string old = final_path + ".old" + unfinished;
    const OwnCheckpoints own{root_, manifest.deck};
    std::vector<std::string> notes;
    try {
        manifest.files.push_back(write_master(folder_, manifest));
        check_before_writing(manifest);
        const std::string text = to_text(manifest);
        if (std::ssize(text) > ManifestLimits::file_bytes) {
            throw Error{
                ErrorKind::resource,
                fmt::format("a checkpoint of {} pieces cannot be described (COMPLETE would have {}). Save "
                            "from fewer ranks.",
                            manifest.pieces.size(), format_bytes(std::ssize(text)))};
        }
        storage::write_small_file(folder_ + "/COMPLETE", text);
        storage::flush_directory(folder_);
        // Written before any rename, so that a full disk leaves everything unchanged.
        write_latest(root_, folder_name(step_), text);
        Renames renames;
        for (const std::string& path : list_complete(root_)) {
            const auto step = *step_of_folder(path);
            if (step > step_ || (step == step_ && !own.has(path))) {
                const std::string aside = free_name(path);
                renames.rename(path, aside);
                notes.push_back(fmt::format(
                    "{} is renamed to '{}': {}", fs::path{path}.filename().string(), aside,
                    step > step_ ? "training resumed from an earlier step" : "another run has written it"));
            }
        }
        put_in_place(folder_, final_path, old, renames);
        storage::flush_directory(root_);
        storage::rename_path(new_latest, latest);
        renames.keep();
    } catch (...) {
        remove_quietly(new_latest);
        remove_quietly(folder_);
        throw;
    }
    is_finished_ = true;
    remove_quietly(folder_);  // an older save of this step, if names were exchanged
    remove_quietly(old);
    try {
        storage::flush_directory(root_);
        for (const std::string& path : let_go(root_, step_, keep, own)) {
            remove_checkpoint(root_, path);
        }
    } catch (const Error& error) {
        notes.emplace_back(error.what());
    }
    return notes;
}

}  // namespace ziggurat::checkpoint
