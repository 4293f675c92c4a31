/// YAML documents as trees of nodes.
///
/// Stricter than YAML: one document, no custom tags, no tabs, no duplicate keys, scalar keys only. Scalars
/// keep their raw text: their type is the schema's business, never YAML's guess.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "deck/document/node.hpp"
#include "deck/messages/diagnostics.hpp"

namespace ziggurat::deck {

/// Bounds that keep a hostile deck cheap.
struct Limits {
    static constexpr std::size_t file_bytes = 256 * 1024;
    static constexpr int depth = 32;
    static constexpr std::size_t nodes = 20000;  ///< after the expansion of aliases
    static constexpr int include_depth = 8;
    static constexpr int files = 64;
    static constexpr std::size_t scalar_bytes = 64 * 1024;      ///< of one value, variables substituted
    static constexpr std::size_t expanded_bytes = 1024 * 1024;  ///< of all values with variables
};

/// Name of a text in messages, its author, and the position of its first character.
struct DocumentSource {
    std::string file;
    Writer writer = Writer::deck;
    int line = 1;
    int column = 1;
};

/// The tree of `text`, or nothing when it is not one document that we take; complaints go to `found`.
/// An empty text is an empty map.
std::optional<Node> parse_document(std::string_view text, const DocumentSource& source, Diagnostics& found);

/// False, with a complaint, for a text that may not reach the YAML parser: too long, not UTF-8, control
/// characters, tabs.
bool is_plain_text(std::string_view text, const DocumentSource& source, Diagnostics& found);

}  // namespace ziggurat::deck
