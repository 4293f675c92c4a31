#include "app/token_sources.hpp"

#include <utility>

#include "data/file_look.hpp"
#include "data/shared_files.hpp"
#include "data/token_source.hpp"

namespace ziggurat::app {

deck::SourceFacts read_source(const spec::Source& source, const std::string& key) {
    const auto opened = data::open_source(source, key);
    deck::SourceFacts facts{.tokens = opened->num_tokens()};
    for (const auto& file : opened->files()) {
        if (!file.is_index) {
            facts.files.push_back(file.file->path());
        }
    }
    if (auto doubt = data::doubt_of(source, *opened)) {
        facts.doubt = {std::move(doubt->path), std::move(doubt->why), std::move(doubt->remedy)};
    }
    return facts;
}

std::vector<deck::FileOverlap> find_shared_files(const std::vector<std::string>& validated,
                                                 const std::vector<std::string>& trained) {
    std::vector<deck::FileOverlap> shared;
    for (const auto& file : data::find_shared_files(validated, trained)) {
        shared.push_back({file.validated, file.trained, file.is_copy});
    }
    return shared;
}

}  // namespace ziggurat::app
