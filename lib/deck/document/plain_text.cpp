#include <fmt/format.h>

#include "base/text/printable.hpp"
#include "deck/document/document.hpp"

namespace ziggurat::deck {
bool is_plain_text(std::string_view text, const DocumentSource& source, Diagnostics& found) {
    if (text.size() > Limits::file_bytes) {
        found.error({source.file, 0, 0},
                    fmt::format("the deck has more than {} KiB", Limits::file_bytes / 1024),
                    "a deck is a small text file", "Is this the right file?");
        return false;
    }
    SourceLocation at{source.file, source.line, source.column};
    bool in_comment = false;
    char before = ' ';
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\t' && !in_comment) {
            found.error(at, "a tab", "YAML counts indentation in spaces",
                        "Write spaces, or \\t within double quotes.");
            return false;
        }
        if ((byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f) {
            found.error(at, fmt::format("a control character, byte 0x{:02x}", byte), "a deck is plain text",
                        "Remove it, or write it as an escape within double quotes.");
            return false;
        }
        const std::size_t length = utf8_length(text.substr(i));
        if (length == 0) {
            found.error(at, fmt::format("byte 0x{:02x} is not UTF-8", byte), "a deck is plain text",
                        "Save the file as UTF-8.");
            return false;
        }
        in_comment = c != '\n' && (in_comment || (c == '#' && (before == ' ' || before == '\n')));
        before = c;
        at.column = c == '\n' ? 1 : at.column + static_cast<int>(length);
        at.line += c == '\n' ? 1 : 0;
        i += length;
    }
    return true;
}

}  // namespace ziggurat::deck
