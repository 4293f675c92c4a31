#include "train/report/run_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "train/hook/event_hook.hpp"
#include "train/report/event_file.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* errors_name = "errors";

void expect_no_link(const fs::directory_entry& entry) {
    std::error_code unreadable;
    if (entry.is_symlink(unreadable)) {
        throw Error{ErrorKind::resource,
                    "cannot use the run directory '" + entry.path().parent_path().string() + "' ('" +
                        entry.path().string() +
                        "' is a symbolic link, and a run does not write through links). Remove the link."};
    }
}

/// Returns the name of the file that a draft becomes.
std::string_view without_draft(std::string_view name) {
    constexpr std::string_view draft = ".tmp";
    return name.ends_with(draft) ? name.substr(0, name.size() - draft.size()) : name;
}

}  // namespace

bool is_run_file(std::string_view name) {
    constexpr std::array names{
        "deck.effective.yaml", "env.txt",     "run.log",   "metrics.jsonl", "perf.txt", "products.json",
        "ranks.jsonl",         hook_log_name, errors_name, events_folder,   done_name};
    return std::ranges::find(names, name) != names.end() ||
           (name.starts_with("trace.rank") && name.ends_with(".json")) ||
           (name.starts_with("metrics.cut-") && name.ends_with(".jsonl"));
}

void expect_no_links(const std::string& run_dir) {
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator{run_dir, unreadable}) {
        const auto name = entry.path().filename().string();
        if (is_run_file(without_draft(name)) && name != events_folder) {
            expect_no_link(entry);
        }
    }
    for (const auto& entry : fs::directory_iterator{run_dir + "/" + errors_name, unreadable}) {
        expect_no_link(entry);
    }
}

}  // namespace ziggurat::train
