#include "deck/messages/missing_path.hpp"

#include <algorithm>
#include <filesystem>

#include "base/text/looked_in.hpp"

namespace ziggurat::deck {

void note_where_looked(Diagnostics& found,
                       const SourceLocation& at,
                       const std::string& path,
                       const char* reason) {
    const std::string searched = "it was looked for in " + looked_in(path);
    const bool is_reported = std::ranges::any_of(
        found.sorted(), [&](const Problem& problem) { return problem.problem == searched; });
    if (std::filesystem::path{path}.is_relative() && !is_reported) {
        found.note(at, searched, reason);
    }
}

}  // namespace ziggurat::deck
