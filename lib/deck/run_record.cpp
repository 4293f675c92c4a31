#include "deck/run_record.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "deck/files/shipped_files.hpp"
#include "deck/values/working_folder.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

constexpr const char* dir = "run.dir";
constexpr const char* resume = "run.resume";

bool has_record(const fs::path& folder) {
    std::error_code unreadable;
    return fs::is_regular_file(folder / record_name, unreadable);
}

/// Returns the run folder that contains a checkpoint or the folder of checkpoints; empty if not found.
std::string run_around(const fs::path& folder) {
    for (auto above = folder.lexically_normal(); above.has_relative_path(); above = above.parent_path()) {
        if (has_record(above)) {
            return above.string();
        }
    }
    return "";
}

bool is_of_command_line(const DeckValue* value) {
    return value != nullptr && value->origin.kind == OriginKind::command_line;
}

/// Returns true if both paths name the same folder, which does not have to exist.
bool is_same(const fs::path& one, const fs::path& other) {
    std::error_code unreadable;
    const auto whole = [&](const fs::path& path) {
        auto found = fs::weakly_canonical(fs::absolute(path, unreadable), unreadable);
        return found.has_filename() ? found : found.parent_path();
    };
    return whole(one) == whole(other);
}

}  // namespace

std::string find_deck(const std::string& path, Diagnostics& found) {
    std::error_code unreadable;
    if (!fs::is_directory(path, unreadable)) {
        return file_or_shipped(path);
    }
    if (has_record(path)) {
        return (fs::path{path} / record_name).string();
    }
    const auto meant = run_around(path);
    found.error({path, 0, 0}, fmt::format("{} is not the folder of a run", in_quotes(path)),
                fmt::format("it has no {}", record_name),
                meant.empty() ? "Name a deck, or a folder in which 'train' has begun a run."
                              : fmt::format("Did you mean '{}'?", meant));
    return "";
}

bool is_record(const std::string& file) {
    return fs::path{file}.filename() == record_name;
}

bool move_to_folder_of(const std::string& file, Values& values, Diagnostics& found) {
    const auto parent = fs::path{file}.parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    const DeckValue* written = values.find(dir);
    if (written == nullptr || is_of_command_line(written) || is_same(values.text(dir), folder)) {
        return false;
    }
    const bool is_moved = !is_same(recorded_run_folder(values), folder);
    if (is_moved) {
        found.note(values.location(dir),
                   fmt::format("the run continues in {}, the folder of this deck", in_quotes(folder)),
                   fmt::format("it was recorded in {}", in_quotes(values.text(dir))),
                   "Set run.dir to train elsewhere.");
    }
    values.set_resolved(dir, folder, write_text(folder), "the folder of this deck");
    return is_moved;
}

bool allow_resume(Values& values, Diagnostics& found) {
    const DeckValue* written = values.find(resume);
    if (written == nullptr || !values.is_keyword(resume, "never") || is_of_command_line(written) ||
        is_of_command_line(values.find(dir))) {
        return false;
    }
    found.note(values.location(resume), "the run resumes, as with run.resume=auto",
               "its record has run.resume: never from its first start",
               "To start from scratch, set run.resume=never on the command line.");
    DeckValue now = *written;
    now.keyword = now.written = "auto";
    values.set(resume, now);
    return true;
}

}  // namespace ziggurat::deck
