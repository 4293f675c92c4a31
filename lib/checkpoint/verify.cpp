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
#include "checkpoint/latest_check.hpp"
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

void check_latest_of(const std::string& path, Verification& found) {
    const fs::path root = fs::absolute(path).lexically_normal().parent_path();
    std::error_code ignored;
    if (!step_of_folder(path) || (root.filename() != "ckpt" && !fs::exists(root / "LATEST", ignored))) {
        return;
    }
    // A running save first renames the checkpoint, then LATEST, and then removes older checkpoints.
    LatestCheck before;
    for (int looks = 1;; ++looks) {
        auto check = check_latest(root.string());
        const bool may_change =
            check != before || (!check.defect.empty() && fs::exists(root / "LATEST.tmp", ignored));
        if (check == LatestCheck{}) {
            return;
        }
        if (!may_change || looks == max_tries) {
            if (!check.defect.empty()) {
                found.defects.push_back({"LATEST", std::move(check.defect)});
            }
            found.note = std::move(check.note);
            return;
        }
        before = std::move(check);
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
    check_latest_of(path, found);
    return found;
}

}  // namespace ziggurat::checkpoint
