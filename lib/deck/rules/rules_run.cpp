#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "base/text/printable.hpp"
#include "deck/rules/rules.hpp"
#include "deck/values/working_folder.hpp"

namespace ziggurat::deck {
namespace {

void names_are_folders(const Resolution& at) {
    const std::string& name = at.run.run.name;
    if (name.empty() || name.size() > 100 || name.find('/') != std::string::npos || name == "." ||
        name == ".." || printable(name) != name) {
        at.found.error(at.values.location("run.name"),
                       fmt::format("run.name = {} cannot be a folder", in_quotes(name)),
                       "files of the run are named for it",
                       "Use up to 100 characters that can be printed, without '/'.");
    }
}

void working_folder_is_there(const Resolution& at) {
    const auto folder = at.values.text(working_folder_key);
    std::error_code unreadable;
    if (at.options.needs_data && !folder.empty() && !std::filesystem::is_directory(folder, unreadable)) {
        at.found.error(at.values.location(working_folder_key),
                       fmt::format("{} = {} is not a folder", working_folder_key, in_quotes(folder)),
                       "relative paths of the deck start there", "Name a folder, or leave it out.");
    } else if (path_here(at.values, ".") != "." && folder.find_first_of("*?[") != std::string::npos) {
        at.found.error(at.values.location(working_folder_key),
                       fmt::format("{} = {} cannot be used", working_folder_key, in_quotes(folder)),
                       "with *, ? or [ in it, paths that start there are patterns",
                       "Start the program in that folder, or rename it.");
    }
}

constexpr std::array rules = {
    Rule{names_are_folders, "run.name"},
    Rule{working_folder_is_there, working_folder_key},
};

}  // namespace

std::span<const Rule> run_rules() {
    return rules;
}

}  // namespace ziggurat::deck
