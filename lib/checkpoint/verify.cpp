#include "checkpoint/verify.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/text/units.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/file_check.hpp"
#include "checkpoint/recorded_deck.hpp"
#include "checkpoint/structure_check.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;

/// Attempts to read LATEST while another process writes it.
constexpr int max_tries = 50;
constexpr std::chrono::milliseconds between_looks{20};

/// Checks that every entry of the folder is a listed file.
void check_entries(const CheckpointFiles& files, const Manifest& manifest, std::vector<Defect>& defects) {
    std::set<std::string> known{"COMPLETE"};
    for (const FileEntry& entry : manifest.files) {
        known.insert(entry.name);
    }
    std::error_code problem;
    for (fs::directory_iterator entry{files.fd_path(), problem};
         !problem && entry != fs::directory_iterator{}; entry.increment(problem)) {
        const std::string name = entry->path().filename().string();
        if (!known.contains(name)) {
            defects.push_back({name, "it does not belong to the checkpoint"});
        }
    }
    if (problem) {
        defects.push_back({".", fmt::format("the folder cannot be listed ({})", problem.message())});
    }
}

/// Returns the defect of LATEST in `root`; nullopt if it is valid.
std::optional<std::string> problem_of_latest(const std::string& root) {
    const std::optional<Latest> latest = read_latest(root);
    if (!latest) {
        return "it is missing";
    }
    const std::optional<std::string> text = read_manifest_text(root + "/" + latest->name);
    if (!text) {
        return fmt::format("it names {}, which is not complete", latest->name);
    }
    if (hash_of_manifest(*text) != latest->hash_of_manifest) {
        return fmt::format("it names {}, but not the hash of its COMPLETE", latest->name);
    }
    const std::vector<std::string> complete = list_complete(root);
    const std::string newest =
        complete.empty() ? latest->name : fs::path{complete.back()}.filename().string();
    if (newest != latest->name) {
        return fmt::format(
            "it names {}, but {} is complete and newer (a job that died during a save leaves this; "
            "the next start fixes it)",
            latest->name, newest);
    }
    return std::nullopt;
}

std::optional<std::string> problem_or_error_of_latest(const std::string& root) {
    try {
        return problem_of_latest(root);
    } catch (const Error& error) {
        return error.what();
    }
}

void check_latest(const std::string& path, std::vector<Defect>& defects) {
    const fs::path root = fs::absolute(path).lexically_normal().parent_path();
    std::error_code ignored;
    if (!step_of_folder(path) || (root.filename() != "ckpt" && !fs::exists(root / "LATEST", ignored))) {
        return;
    }
    // A running save first renames the checkpoint, then LATEST, and then removes older checkpoints.
    std::optional<std::string> before;
    for (int looks = 1;; ++looks) {
        auto problem = problem_or_error_of_latest(root.string());
        const bool may_change = problem != before || fs::exists(root / "LATEST.tmp", ignored);
        if (!problem) {
            return;
        }
        if (!may_change || looks == max_tries) {
            defects.push_back({"LATEST", std::move(*problem)});
            return;
        }
        before = std::move(problem);
        std::this_thread::sleep_for(looks == 1 ? std::chrono::milliseconds{1} : between_looks);
    }
}

}  // namespace

std::vector<Defect> verify_rest_of_files(CheckpointFiles& files, const Manifest& manifest) {
    FileCheck check{files, manifest, {}};
    std::vector<Defect> defects;
    for (std::size_t file = 0; file < manifest.files.size(); ++file) {
        check.check(file, FileCheck::CheckScope::rest, defects);
    }
    return defects;
}

Verification verify_checkpoint(const std::string& path_as_given,
                               const std::function<void(std::int64_t, std::int64_t)>& progress) {
    std::string path = path_as_given;
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    Verification found;
    try {
        CheckpointFiles files{path};
        const Manifest manifest = files.read_manifest();
        files.expect(manifest.files.size());
        for (const FileEntry& entry : manifest.files) {
            files.hold(entry);  // size defects are reported below
        }
        const std::optional<std::int64_t> step = step_of_folder(path);
        if (step && *step != manifest.progress.step) {
            found.defects.push_back({"COMPLETE", fmt::format("it belongs to step {}, but is in '{}'",
                                                             manifest.progress.step, path)});
        }
        if (auto problem = problem_of_deck(manifest.deck)) {
            found.defects.push_back({"COMPLETE", std::move(*problem)});
        }
        FileCheck check{files, manifest, progress};
        for (std::size_t file = 0; file < manifest.files.size(); ++file) {
            if (check.check(file, FileCheck::CheckScope::all, found.defects)) {
                check_structure(files, manifest, file, found.defects);
            }
        }
        found.bytes_read = check.bytes_read();
        check_entries(files, manifest, found.defects);
    } catch (const Error& error) {
        found.defects.push_back({"COMPLETE", error.what()});
    }
    check_latest(path, found.defects);
    return found;
}

}  // namespace ziggurat::checkpoint
