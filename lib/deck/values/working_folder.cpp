#include "deck/values/working_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/path_exists.hpp"
#include "deck/schema/schema.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

constexpr auto key = working_folder_key;
constexpr const char* run_dir = "run.dir";

fs::path whole(const fs::path& path) {
    std::error_code unreadable;
    return fs::weakly_canonical(fs::absolute(path, unreadable), unreadable);
}

bool is_of_command_line(const DeckValue& value) {
    return value.origin.kind == OriginKind::command_line;
}

/// Returns the keys of relative paths.
std::vector<std::string> relative_paths(const Values& values) {
    std::vector<std::string> paths;
    for (const auto& path : values.paths()) {
        const Row* row = deck_schema().find(path);
        const auto text = values.text(path);
        if (row != nullptr && row->type == Type::path && path != key && !text.empty() &&
            fs::path{text}.is_relative()) {
            paths.push_back(path);
        }
    }
    return paths;
}

/// Returns candidates for the base folder of a run's paths, best first.
std::vector<fs::path> folders_of(const std::string& run_was,
                                 const std::string& run_folder,
                                 const fs::path& recorded) {
    std::vector<fs::path> folders;
    if (!run_was.empty() && !run_folder.empty()) {
        const auto from_run = recorded.lexically_normal().lexically_relative(run_was);
        folders.push_back(whole(fs::path{run_folder} / from_run));
    }
    folders.push_back(whole(recorded));
    return folders;
}

bool is_here(const fs::path& folder) {
    return folder.empty() || folder == whole(".");
}

/// Changes the path at key `path` to `text`. A path with secrets is not changed.
void rewrite(const std::string& path, const std::string& text, Values& values) {
    DeckValue value = *values.find(path);
    if (value.without_secrets.empty()) {
        value.data = text;
        value.written = write_text(text);
        values.set(path, value);
    }
}

}  // namespace

std::string recorded_run_folder(const Values& values) {
    const DeckValue* dir = values.find(run_dir);
    const fs::path recorded = values.text(key);
    const bool is_recorded = dir != nullptr && !recorded.empty() && !is_of_command_line(*dir);
    return is_recorded ? (recorded / values.text(run_dir)).lexically_normal().string() : "";
}

bool find_working_folder(const std::string& run_was,
                         const std::string& run_folder,
                         Values& values,
                         Diagnostics& found) {
    if (values.text(key).empty()) {
        return false;
    }
    const auto here = whole(".");
    const auto folders = folders_of(run_was, run_folder, values.text(key));
    const auto paths = relative_paths(values);
    std::string reason;
    const auto has_path_of_run = [&](const fs::path& folder) {
        const auto is_in_it = [&](const std::string& path) {
            return path != run_dir && !is_of_command_line(*values.find(path)) &&
                   path_exists(folder / values.text(path));
        };
        const auto in_it = std::ranges::find_if(paths, is_in_it);
        reason = in_it == paths.end() ? "" : *in_it;
        return in_it != paths.end();
    };
    const auto chosen = std::ranges::find_if(folders, has_path_of_run);
    const auto folder = chosen != folders.end() ? *chosen : run_folder.empty() ? folders.back() : here;
    rewrite(key, folder.string(), values);
    if (folder == here) {
        return false;
    }
    for (const auto& path : paths) {
        if (path == run_dir || is_of_command_line(*values.find(path))) {
            rewrite(path, path_here(values, values.text(path)), values);
        }
    }
    if (!reason.empty()) {
        found.note(values.location(reason),
                   fmt::format("paths of the run start at {}", in_quotes(folder.string())),
                   fmt::format("{} exists there, as in the folder in which the run was started", reason),
                   fmt::format("Set {} to use another.", reason));
    }
    return true;
}

std::string path_from(const Values& values, const std::string& text) {
    const fs::path folder = values.text(key);
    if (text.empty() || fs::path{text}.is_absolute() || is_here(folder)) {
        return text;
    }
    const auto path = (folder / text).lexically_normal();
    return !path_exists(path) && path_exists(text) ? text : path.string();
}

std::string path_here(const Values& values, const std::string& text) {
    const bool is_as_it_is = text.empty() || fs::path{text}.is_absolute() || is_here(values.text(key));
    return is_as_it_is ? text : whole(text).string();
}

void leave_working_folder(Values& values) {
    for (const auto& path : relative_paths(values)) {
        if (path != run_dir) {
            rewrite(path, path_from(values, values.text(path)), values);
        }
    }
    const auto disks = values.as<std::vector<std::string>>(nvme_paths);
    if (!disks.empty() && !is_here(values.text(key))) {
        std::vector<std::string> paths, written;
        for (const auto& disk : disks) {
            paths.push_back(path_from(values, disk));
            written.push_back(write_text(paths.back()));
        }
        DeckValue value = *values.find(nvme_paths);
        value.data = paths;
        value.written = write_list(written);
        values.set(nvme_paths, value);
    }
    values.erase(key);
}

}  // namespace ziggurat::deck
