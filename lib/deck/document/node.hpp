/// Nodes of a document, each with the location at which it was written.
#pragma once

#include <cstddef>
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
    std::string without_secrets;    ///< of a scalar with secrets of the environment, as a deck says it with
                                    ///< their variables; else empty
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

/// Nodes of the tree, `node` among them.
std::size_t count_nodes(const Node& node);

/// Levels of the tree; 1 for a scalar.
int depth_of(const Node& node);

}  // namespace ziggurat::deck
