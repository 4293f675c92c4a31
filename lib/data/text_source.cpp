#include "data/text_source.hpp"

namespace ziggurat::data {

TextSource::TextSource(const std::string& pattern, const std::string& key) {
    for (const auto& path : expand_paths(pattern, key)) {
        MappedFile file{path, key};
        const std::int64_t tokens = file.bytes();
        files_.append({std::move(file), 0, tokens, TokenType::uint8});
    }
}

void TextSource::read(std::int64_t begin, std::span<std::int32_t> out) const {
    files_.read(begin, out);
}

}  // namespace ziggurat::data
