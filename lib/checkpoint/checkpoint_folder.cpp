#include "checkpoint/checkpoint_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/checkpoint_files.hpp"
#include "checkpoint/recorded_deck.hpp"
#include "checkpoint/verify.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-";
constexpr std::size_t min_digits = 9;
constexpr std::int64_t latest_bytes = 4096;  // LATEST has less than 60
/// Limit of attempts to list a folder that a training changes meanwhile.
constexpr int max_looks = 10;

/// Returns the folders called `step-N`, by N.
std::map<std::int64_t, std::string> step_folders(const std::string& root) {
    std::map<std::int64_t, std::string> folders;
    std::error_code problem;
    fs::directory_iterator entries{root, problem};
    if (problem == std::errc::no_such_file_or_directory) {
        return folders;
    }
    while (!problem && entries != fs::directory_iterator{}) {
        if (const auto step = step_of_folder(entries->path().filename().string())) {
            folders[*step] = entries->path().string();
        }
        entries.increment(problem);
    }
    if (problem) {
        throw Error{ErrorKind::resource, fmt::format("cannot list '{}' ({}). Check run.dir and its rights.",
                                                     root, problem.message())};
    }
    return folders;
}

/// Returns the reason not to resume from a checkpoint, as far as known without reading its pieces.
std::optional<std::string> problem_of(const std::string& path, std::int64_t step) {
    try {
        CheckpointFiles files{path};
        const Manifest manifest = files.read_manifest();
        if (manifest.progress.step != step) {
            return fmt::format("its COMPLETE belongs to step {}", manifest.progress.step);
        }
        if (auto problem = problem_of_deck(manifest.deck)) {
            return problem;
        }
        files.expect(manifest.files.size());
        for (const FileEntry& entry : manifest.files) {
            if (const auto problem = files.hold(entry)) {
                return fmt::format("'{}': {}", entry.name, *problem);
            }
        }
        for (const Defect& damage : verify_rest_of_files(files, manifest)) {
            return fmt::format("'{}': {}", damage.file, damage.what);
        }
    } catch (const Error& error) {
        return error.what();
    }
    return std::nullopt;
}

/// Names in a folder of checkpoints, for detecting changes.
struct SeenFolder {
    std::map<std::int64_t, std::string> folders;  ///< by step
    std::optional<Latest> latest;
    std::string problem_of_latest;

    bool operator==(const SeenFolder&) const = default;
};

SeenFolder see(const std::string& root) {
    SeenFolder seen;
    try {
        seen.latest = read_latest(root);
    } catch (const Error& error) {
        seen.problem_of_latest = error.what();
    }
    seen.folders = step_folders(root);
    return seen;
}

/// Finds the newest checkpoint, assuming that no other process changes the folder meanwhile.
FoundCheckpoint look_for_newest(const std::string& root,
                                const SeenFolder& seen,
                                std::optional<std::int64_t> below) {
    const auto& [folders, latest, problem_of_latest] = seen;
    FoundCheckpoint found;
    found.is_empty = folders.empty();
    found.saved_step =
        std::max(found.is_empty ? -1 : folders.rbegin()->first, latest ? *step_of_folder(latest->name) : -1);
    if (!problem_of_latest.empty()) {
        found.notes.push_back(problem_of_latest);
    } else if (!latest && !found.is_empty) {
        found.notes.push_back(fmt::format("'{}/LATEST' is missing", root));
    }
    for (auto folder = folders.rbegin(); folder != folders.rend() && !found.path; ++folder) {
        const auto& [step, path] = *folder;
        if (below && step >= *below) {
            continue;
        }
        if (const std::optional<std::string> problem = problem_of(path, step)) {
            found.notes.push_back(fmt::format("skips {} ({})", folder_name(step), *problem));
        } else {
            found.path = path;
        }
    }
    if (latest && found.path && !below && *step_of_folder(*found.path) > *step_of_folder(latest->name)) {
        found.notes.push_back(fmt::format("LATEST names {}, but {} is complete and newer", latest->name,
                                          folder_name(*step_of_folder(*found.path))));
    } else if (latest && !folders.contains(*step_of_folder(latest->name))) {
        found.notes.push_back(fmt::format("LATEST names {}, which is missing", latest->name));
    }
    return found;
}

}  // namespace

std::string folder_name(std::int64_t step) {
    return fmt::format("step-{:09d}", step);
}

std::optional<std::int64_t> step_of_folder(const std::string& path) {
    const std::string name = fs::path{path}.filename().string();
    std::int64_t step = 0;
    const char* end = name.data() + name.size();
    if (!name.starts_with(prefix) || name.size() < prefix.size() + min_digits) {
        return std::nullopt;
    }
    const auto [stop, problem] = std::from_chars(name.data() + prefix.size(), end, step);
    if (problem != std::errc{} || stop != end || step < 0 || folder_name(step) != name) {
        return std::nullopt;
    }
    return step;
}

std::optional<Latest> read_latest(const std::string& root) {
    const std::string path = root + "/LATEST";
    const std::optional<std::string> text = storage::read_small_file(path, latest_bytes);
    if (!text) {
        return std::nullopt;
    }
    Latest latest;
    const std::size_t space = text->find(' ');
    if (space != std::string::npos) {
        latest.name = text->substr(0, space);
        const char* begin = text->data() + space + 1;
        std::from_chars(begin, text->data() + text->size(), latest.hash_of_manifest, 16);
    }
    if (!step_of_folder(latest.name) ||
        *text != fmt::format("{} {:016x}\n", latest.name, latest.hash_of_manifest)) {
        throw Error{
            ErrorKind::checkpoint,
            fmt::format("'{}' is corrupt (it holds '{}', not a step and the hash of its COMPLETE). Remove "
                        "it: the newest complete checkpoint is found without it.",
                        path, printable(text->substr(0, 60)))};
    }
    return latest;
}

std::vector<std::string> list_complete(const std::string& root) {
    std::vector<std::string> complete;
    for (const auto& [step, path] : step_folders(root)) {
        std::error_code ignored;
        if (fs::is_regular_file(path + "/COMPLETE", ignored)) {
            complete.push_back(path);
        }
    }
    return complete;
}

FoundCheckpoint find_newest(const std::string& root, std::optional<std::int64_t> below) {
    auto seen = see(root);
    for (int looks = 1;; ++looks) {
        auto found = look_for_newest(root, seen, below);
        if (found.notes.empty() || looks == max_looks) {
            return found;
        }
        if (auto now = see(root); now != seen) {
            seen = std::move(now);
        } else {
            return found;
        }
    }
}

std::optional<std::int64_t> free_bytes(const std::string& path) {
    return storage::has_limited_space(path) ? std::optional{storage::free_bytes(path)} : std::nullopt;
}

}  // namespace ziggurat::checkpoint
