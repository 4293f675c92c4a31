#include "deck/messages/missing_path.hpp"

#include <algorithm>
#include <filesystem>

#include "base/looked_in.hpp"

namespace ziggurat::deck {

void note_where_looked(Diagnostics& found,
                       const SourceLocation& at,
                       const std::string& path,
                       const char* why) {
    const std::string told = "it was looked for in " + looked_in(path);
    const bool is_told =
        std::ranges::any_of(found.sorted(), [&](const Problem& problem) { return problem.problem == told; });
    if (std::filesystem::path{path}.is_relative() && !is_told) {
        found.note(at, told, why);
    }
}

}  // namespace ziggurat::deck
