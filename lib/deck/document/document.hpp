/// A YAML document as a tree that remembers where each value was written.
///
/// Stricter than YAML: one document, no custom tags, no tabs, no duplicate keys, scalar keys only. Scalars
/// keep their raw text: their type is the schema's business, never YAML's guess.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deck/messages/diagnostics.hpp"

namespace ziggurat::deck {

/// Author of a value.
enum class Writer { deck, include, command_line };

struct MapEntry;

enum class NodeKind { null, scalar, list, map };

/// A scalar, a list, a map, or nothing.
struct Node {
    NodeKind kind = NodeKind::null;
    std::string text;               ///< of a scalar
    bool is_quoted = false;         ///< a quoted '<<' is a key like any other
    bool is_failed = false;         ///< there was a complaint about it already
    std::vector<Node> items;        ///< of a list
    std::vector<MapEntry> entries;  ///< of a map, in the order of the file
    SourceLocation at;
    Writer writer = Writer::deck;

    Node* find(std::string_view key);
    const Node* find(std::string_view key) const;
};

/// One `key: value` of a map.
struct MapEntry {
    std::string key;
    SourceLocation key_at;
    Node value;
};

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
