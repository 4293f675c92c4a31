/// YAML documents as trees of nodes.
///
/// Stricter than YAML: one document, no custom tags, no tabs, no duplicate keys, scalar keys only. Scalars
/// keep their raw text: the schema, not YAML, determines their type.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "deck/document/node.hpp"
#include "deck/messages/diagnostics.hpp"

namespace ziggurat::deck {

/// Bounds that limit the cost of a hostile deck.
struct Limits {
    static constexpr std::size_t file_bytes = 256 * 1024;
    static constexpr int depth = 32;
    static constexpr std::size_t nodes = 20000;  ///< after the expansion of aliases
    static constexpr int include_depth = 8;
    static constexpr int files = 64;
    static constexpr std::size_t scalar_bytes = 64 * 1024;      ///< of one value after substitution
    static constexpr std::size_t expanded_bytes = 1024 * 1024;  ///< total of all values with variables
};

/// Name of a text in messages, its writer, and the position of its first character.
struct DocumentSource {
    std::string file;
    Writer writer = Writer::deck;
    int line = 1;
    int column = 1;
};

/// Parses `text` to a tree; nullopt if it is not one valid document. Problems are added to `found`.
///
/// An empty text becomes an empty map.
std::optional<Node> parse_document(std::string_view text, const DocumentSource& source, Diagnostics& found);

/// Returns true if a text may be passed to the YAML parser.
///
/// Otherwise adds an error: too long, not UTF-8, control characters, tabs.
bool is_plain_text(std::string_view text, const DocumentSource& source, Diagnostics& found);

}  // namespace ziggurat::deck
