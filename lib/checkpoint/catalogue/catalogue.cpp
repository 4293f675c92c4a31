#include "checkpoint/catalogue/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text/looked_in.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/catalogue/read_choice.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/validation_record.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-";
/// Limit of attempts to list a folder that a training changes meanwhile.
constexpr int max_looks = 10;
constexpr std::string_view unfinished = ".tmp";

struct Name {
    std::int64_t step = 0;
    bool is_unfinished = false;
};

/// Parses a folder's name; returns nullopt if it is not that of a checkpoint.
std::optional<Name> read_name(std::string_view name) {
    if (!name.starts_with(prefix)) {
        return std::nullopt;
    }
    name.remove_prefix(prefix.size());
    Name read;
    read.is_unfinished = name.ends_with(unfinished);
    name.remove_suffix(read.is_unfinished ? unfinished.size() : 0);
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data(), end, read.step);
    const bool is_number = !name.empty() && error == std::errc{} && rest == end && read.step >= 0;
    return is_number ? std::optional{read} : std::nullopt;
}

std::string name_of(const std::string& path) {
    const fs::path folder = fs::path{path}.lexically_normal();
    return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

/// Returns the total size of the files directly in the folder; unreadable ones count zero.
std::int64_t bytes_in(const std::string& folder) {
    std::int64_t bytes = 0;
    std::error_code error;
    for (fs::directory_iterator at{folder, error}, end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        const auto size = at->is_regular_file(ignored) ? at->file_size(ignored) : 0;
        bytes += ignored ? 0 : static_cast<std::int64_t>(size);
    }
    return bytes;
}

double last_change(const std::string& path) {
    std::error_code error;
    const auto time = fs::last_write_time(path, error);
    return error ? 0
                 : std::chrono::duration<double>(std::chrono::file_clock::to_sys(time).time_since_epoch())
                       .count();
}

CatalogueEntry examine(const std::string& path, std::optional<Name> name) {
    CatalogueEntry entry;
    entry.path = path;
    entry.step = name ? name->step : 0;
    entry.bytes = bytes_in(path);
    entry.written = last_change(path + "/COMPLETE");
    if (name && name->is_unfinished) {
        entry.state = EntryState::unfinished;
        entry.obstacle = "unfinished: a save in progress, or an interrupted one";
        return entry;
    }
    try {
        const CheckpointReader reader{path};
        entry.manifest = reader.manifest();
    } catch (const Error& error) {
        entry.obstacle = error.what();
        return entry;
    }
    if (name && entry.manifest->progress.step != name->step) {
        entry.obstacle = fmt::format("COMPLETE belongs to step {}", entry.manifest->progress.step);
        return entry;
    }
    entry.step = entry.manifest->progress.step;
    entry.state = EntryState::complete;
    return entry;
}

/// Returns an entry for a path with a checkpoint's name that is a file or an invalid symbolic link.
/// link.
CatalogueEntry no_folder(const std::string& path, const Name& name) {
    std::error_code error;
    const bool is_present = fs::exists(path, error);
    const std::string reason = error        ? error.message()
                               : is_present ? "it is not a folder"
                                            : "a dangling symbolic link";
    CatalogueEntry entry;
    entry.path = path;
    entry.step = name.step;
    entry.state = name.is_unfinished ? EntryState::unfinished : EntryState::damaged;
    entry.obstacle = fmt::format("it cannot be a checkpoint ({}). Remove it.", reason);
    return entry;
}

/// Returns true if a running training has removed the entry's folder; it is then not damaged.
bool has_gone(const CatalogueEntry& entry) {
    std::error_code error;
    return entry.state != EntryState::complete && !fs::exists(fs::symlink_status(entry.path, error));
}

/// Lists the entries of `root` with names of checkpoints, one after the other.
std::vector<CatalogueEntry> list_entries(const std::string& root) {
    std::vector<CatalogueEntry> entries;
    std::error_code error;
    for (fs::directory_iterator at{root, error}, end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        const auto name = read_name(at->path().filename().string());
        if (name && at->is_directory(ignored)) {
            entries.push_back(examine(at->path().string(), name));
        } else if (name) {
            entries.push_back(no_folder(at->path().string(), *name));
        }
    }
    if (error) {
        throw Error{ErrorKind::resource, fmt::format("cannot read the folder '{}' ({}). Make it readable.",
                                                     printable(root), error.message())};
    }
    std::ranges::sort(entries, [](const CatalogueEntry& a, const CatalogueEntry& b) {
        return std::pair{a.step, b.state == EntryState::unfinished} <
               std::pair{b.step, a.state == EntryState::unfinished};
    });
    return entries;
}

/// Lists the entries of `root`, without checkpoints that were removed meanwhile.
std::vector<CatalogueEntry> entries_of(const std::string& root) {
    auto entries = list_entries(root);
    for (int looks = 1; looks < max_looks && std::ranges::any_of(entries, has_gone); ++looks) {
        entries = list_entries(root);  // may contain a new one
    }
    std::erase_if(entries, has_gone);
    return entries;
}

/// Returns advice for a user who named `path` as a run: the kind of path and the command to use.
std::string advice_on(const std::string& path) {
    const auto name = printable(path);
    if (kind_of_folder(path) == FolderKind::published) {
        return fmt::format("It is a Hugging Face model: run ziggurat import {} RUN, then name RUN.", name);
    }
    if (path.ends_with(".safetensors")) {
        return fmt::format("It holds model weights: run ziggurat import {} RUN, then name RUN.",
                           printable(fs::path{path}.parent_path().string()));
    }
    const bool is_data = path.ends_with(".bin") || path.ends_with(".idx");
    return std::string{is_data ? "It looks like a token file: name a run here, tokens with --data. " : ""} +
           "Name the folder of a run, its ckpt folder, or one checkpoint.";
}

/// Throws if `path` is not a folder.
void expect_folder(const std::string& path) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (status.type() == fs::file_type::directory) {
        return;
    }
    const bool is_missing = status.type() == fs::file_type::not_found;
    const bool is_other = !is_missing && !error;
    const std::string reason = is_missing ? "there is no such folder in " + looked_in(path)
                               : is_other ? "it is not a folder"
                                          : error.message();
    throw Error{is_missing || is_other ? ErrorKind::deck : ErrorKind::resource,
                fmt::format("cannot list '{}' ({}). {}", printable(path), reason, advice_on(path))};
}

}  // namespace

const CatalogueEntry* Catalogue::newest() const {
    const CatalogueEntry* found = nullptr;
    for (const CatalogueEntry& entry : entries) {
        found = entry.state == EntryState::complete ? &entry : found;
    }
    return found;
}

FolderKind kind_of_folder(const std::string& path) {
    std::error_code ignored;
    if (names_one_checkpoint(path) || fs::is_directory(path + "/ckpt", ignored)) {
        return FolderKind::checkpoints;
    }
    bool has_weights = false, has_steps = false;
    for (const auto& entry : fs::directory_iterator{path, ignored}) {
        has_weights = has_weights || entry.path().extension() == ".safetensors";
        has_steps = has_steps || read_name(entry.path().filename().string()).has_value();
    }
    const bool is_model = has_weights || fs::exists(path + "/config.json", ignored);
    return has_steps ? FolderKind::checkpoints : is_model ? FolderKind::published : FolderKind::other;
}

bool names_one_checkpoint(const std::string& path) {
    std::error_code ignored;
    return best_checkpoint(path) || read_name(name_of(path)) || fs::exists(path + "/COMPLETE", ignored);
}

Catalogue catalogue(const std::string& named) {
    const auto path = best_checkpoint(named).value_or(named);
    expect_folder(path);
    std::error_code ignored;
    Catalogue found;
    if (names_one_checkpoint(path)) {
        found.root = path;
        found.is_one_step = true;
        found.entries.push_back(examine(path, read_name(name_of(path))));
        if (has_gone(found.entries.front())) {
            throw removed_meanwhile(path);
        }
        return found;
    }
    const std::string inside = path + "/ckpt";
    found.root = fs::is_directory(inside, ignored) ? inside : path;
    found.entries = entries_of(found.root);
    if (found.entries.empty() && kind_of_folder(path) == FolderKind::published) {
        throw Error{ErrorKind::deck,
                    fmt::format("'{}' is not the folder of a run. {}", printable(path), advice_on(path))};
    }
    if (found.entries.empty()) {
        throw Error{ErrorKind::checkpoint,
                    fmt::format("there is no checkpoint in '{}' (no folder step-...). Name the folder of a "
                                "run that has saved one, or set checkpoint.every in its deck.",
                                printable(found.root))};
    }
    return found;
}

std::string choose(const std::string& path, std::vector<std::string>& notes) {
    const Catalogue all = catalogue(path);
    const CatalogueEntry* chosen = all.newest();
    for (const CatalogueEntry& entry : all.entries) {
        const bool is_passed_over =
            entry.state != EntryState::complete && (chosen == nullptr || entry.step > chosen->step);
        if (is_passed_over) {
            notes.push_back(fmt::format("{} is not complete ({})", printable(entry.path), entry.obstacle));
        }
    }
    if (chosen == nullptr) {
        std::string reason;
        for (const std::string& note : notes) {
            reason += (reason.empty() ? "" : "; ") + note;
        }
        throw Error{ErrorKind::checkpoint,
                    fmt::format("there is no complete checkpoint in '{}' ({}). Name another, or let the run "
                                "save one.",
                                printable(all.root), reason)};
    }
    return chosen->path;
}

std::string choose_verified(const std::string& path, std::vector<std::string>& notes) {
    const Catalogue all = catalogue(path);
    if (all.is_one_step) {
        return choose(path, notes);
    }
    FoundCheckpoint found = find_newest(all.root);
    notes.insert(notes.end(), found.notes.begin(), found.notes.end());
    if (found.path) {
        return std::move(*found.path);
    }
    std::string reason;
    for (const std::string& note : found.notes) {
        reason += (reason.empty() ? "" : "; ") + note;
    }
    throw Error{ErrorKind::checkpoint,
                fmt::format("no checkpoint in '{}' can be read ({}). Name another folder.",
                            printable(all.root), reason.empty() ? "none is complete" : reason)};
}

}  // namespace ziggurat::checkpoint
