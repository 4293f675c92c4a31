#include "data/text_source.hpp"

#include <utility>

namespace ziggurat::data {

TextSource::TextSource(const std::string& pattern, const std::string& key) {
    for (const auto& path : expand_paths(pattern, key)) {
        MappedFile file{path, key};
        const std::int64_t tokens = file.bytes();
        sequence_.append({std::move(file), 0, tokens, TokenType::uint8});
    }
}

}  // namespace ziggurat::data
