/// Nodes of a document, each with its source location.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "deck/messages/diagnostics.hpp"

namespace ziggurat::deck {

/// Source of a value.
enum class Writer { deck, include, command_line };

struct MapEntry;

enum class NodeKind { null, scalar, list, map };

/// A null, scalar, list or map.
struct Node {
    NodeKind kind = NodeKind::null;
    std::string text;  ///< for scalars
    /// For scalars with secrets of the environment: the text with their variables; else empty.
    std::string without_secrets;
    bool is_quoted = false;         ///< a quoted '<<' is an ordinary key
    bool is_failed = false;         ///< an error was already reported for it
    std::vector<Node> items;        ///< for lists
    std::vector<MapEntry> entries;  ///< for maps, in the order of the file
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

/// Returns the number of nodes in the tree, including `node`.
std::size_t count_nodes(const Node& node);

/// Returns the number of levels of the tree; 1 for a scalar.
int depth_of(const Node& node);

}  // namespace ziggurat::deck
