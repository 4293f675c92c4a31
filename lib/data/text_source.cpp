#include "data/text_source.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/printable.hpp"
#include "data/tokenize/text_input.hpp"

namespace ziggurat::data {

TextSource::TextSource(const std::string& pattern, const std::string& key) {
    for (const auto& path : expand_paths(pattern, key)) {
        MappedFile file{path, key};
        const std::string_view text{reinterpret_cast<const char*>(file.content().data()),
                                    file.content().size()};
        if (!recognise_file(text) && are_json_lines(path, text)) {
            throw Error{
                ErrorKind::deck,
                fmt::format("{}: '{}' is no plain text (each line is a JSON object, which has a text). Run "
                            "'ziggurat tokenize {} --tokenizer bytes --out NAME --format llmc' once, and "
                            "train on {{format: llmc, path: NAME.bin}}.",
                            key, printable(path), printable(path))};
        }
        const std::int64_t tokens = file.bytes();
        sequence_.append({std::move(file), 0, tokens, TokenType::uint8});
    }
}

}  // namespace ziggurat::data
