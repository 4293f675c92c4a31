#include "data/text_source.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/printable.hpp"
#include "data/tokenize/text_input.hpp"

namespace ziggurat::data {
namespace {

std::string command_for(const std::string& path) {
    return fmt::format(
        "Run 'ziggurat tokenize {} --tokenizer bytes --out NAME --format llmc' once, and train "
        "on {{format: llmc, path: NAME.bin}} with data.tokenizer: none and model.vocab: 256",
        printable(path));
}

/// Rejects files whose bytes are not their text.
///
/// Sequences are read in random order from the mapped file, which all ranks of a node share. No other copy of
/// the text exists that could be decompressed.
void expect_plain_text(const MappedFile& file, const std::string& key) {
    const std::string_view text{reinterpret_cast<const char*>(file.content().data()), file.content().size()};
    std::string reason;
    std::string remedy;
    if (const auto found = recognise_file(text)) {
        const bool is_packed = found->kind == FileKind::gzip || found->kind == FileKind::zstd;
        if (found->kind == FileKind::web_page) {
            return;  // may be the intended text; the deck check reports doubts
        }
        reason = std::string{"it is "} + found->what;
        remedy = is_packed
                     ? fmt::format("{} Or: {}, which unpacks it.", found->remedy, command_for(file.path()))
                     : found->remedy;
    } else if (are_json_lines(file.path(), text)) {
        reason = "each line is a JSON object that contains text";
        remedy = command_for(file.path()) + ".";
    } else {
        return;
    }
    throw Error{ErrorKind::deck, fmt::format("{}: '{}' is not plain text ({}). {}", key,
                                             printable(file.path()), reason, remedy)};
}

TokenFile open_text(const std::string& path, const std::string& key) {
    MappedFile file{path, key};
    expect_plain_text(file, key);
    const std::int64_t tokens = file.bytes();
    return {std::move(file), 0, tokens, TokenType::uint8};
}

}  // namespace

TextSource::TextSource(const std::string& pattern, const std::string& key)
    : FileSource{pattern, key, open_text} {}

}  // namespace ziggurat::data
