#include <fmt/format.h>

#include <array>

#include "base/printable.hpp"
#include "deck/rules/rules.hpp"

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

constexpr std::array rules = {
    Rule{names_are_folders, "run.name"},
};

}  // namespace

std::span<const Rule> run_rules() {
    return rules;
}

}  // namespace ziggurat::deck
