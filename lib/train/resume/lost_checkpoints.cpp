#include "train/resume/lost_checkpoints.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/checkpoint_files.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "train/report/run_files.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

std::string root_of(const std::string& run_dir) {
    return (fs::path{run_dir} / "ckpt").string();
}

/// Returns true if metrics.jsonl has a complete save.
bool has_saved(const std::string& run_dir) {
    std::ifstream metrics{fs::path{run_dir} / "metrics.jsonl"};
    for (std::string line; std::getline(metrics, line);) {
        if (line.find("\"event\":\"checkpoint_end\"") != line.npos && line.find("\"ok\":true") != line.npos) {
            return true;
        }
    }
    return false;
}

/// Returns true if the effective deck in `run_dir` saves checkpoints.
bool deck_saves(const std::string& run_dir) {
    std::ifstream deck{fs::path{run_dir} / "deck.effective.yaml"};
    bool is_in_section = false;
    constexpr std::string_view key = "  every: ";
    for (std::string line; std::getline(deck, line);) {
        is_in_section = line.starts_with(' ') ? is_in_section : line.starts_with("checkpoint:");
        if (is_in_section && line.starts_with(key)) {
            return !std::string_view{line}.substr(key.size()).starts_with("none");
        }
    }
    return false;
}

std::string evidence_of_latest(const std::string& root) {
    try {
        const auto latest = checkpoint::read_latest(root);
        return latest ? fmt::format("LATEST names {}", latest->name) : "";
    } catch (const Error&) {
        return "LATEST exists but is corrupt";
    }
}

}  // namespace

std::string evidence_of_saves(const std::string& run_dir) {
    if (has_saved(run_dir)) {
        return "metrics.jsonl records them";
    }
    std::error_code unreadable;
    const bool is_done = fs::exists(fs::path{run_dir} / done_name, unreadable);
    return is_done && deck_saves(run_dir)
               ? fmt::format("{} shows that the run has finished, and its deck saves", done_name)
               : "";
}

std::string dangling_checkpoints(const std::string& run_dir) {
    const fs::path root = root_of(run_dir);
    std::error_code unreadable;
    const bool is_dangling = fs::is_symlink(root, unreadable) && !fs::exists(root, unreadable);
    const auto target = is_dangling ? fs::read_symlink(root, unreadable).string() : "";
    return is_dangling && target.empty() ? "?" : target;
}

void expect_never_saved(const std::string& run_dir) {
    const auto root = root_of(run_dir);
    constexpr const char* remedy =
        "Restore them, start from scratch with run.resume=never, or set another run.dir.";
    if (const auto evidence = evidence_of_latest(root); !evidence.empty()) {
        throw Error{ErrorKind::checkpoint,
                    fmt::format("the checkpoints of '{}' are missing ({}, but no checkpoint exists). {}",
                                printable(root), evidence, remedy)};
    }
    if (const auto evidence = evidence_of_saves(run_dir); !evidence.empty()) {
        throw Error{ErrorKind::resource,
                    fmt::format("the checkpoints of '{}' are missing ({}; is a disk not mounted?). {}",
                                printable(root), evidence, remedy)};
    }
}

void expect_reachable_checkpoints(const std::string& run_dir) {
    if (const auto target = dangling_checkpoints(run_dir); !target.empty()) {
        throw Error{
            ErrorKind::resource,
            fmt::format("cannot use the folder of checkpoints '{}' (it is a link to '{}', which is not "
                        "there). Mount its disk, or correct or remove the link.",
                        printable(root_of(run_dir)), printable(target))};
    }
}

}  // namespace ziggurat::train
