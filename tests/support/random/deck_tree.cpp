#include "tests/support/random/deck_tree.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "deck/document/document.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::test {
namespace {

using deck::Node;
using deck::NodeKind;

/// Returns a node in the flow style of YAML.
std::string write_node(const Node& node) {
    std::string text;
    switch (node.kind) {
        case NodeKind::null:
            return "null";
        case NodeKind::scalar:
            return node.is_quoted ? deck::write_quoted(node.text) : node.text;
        case NodeKind::list:
            for (const auto& item : node.items) {
                text += (text.empty() ? "" : ", ") + write_node(item);
            }
            return "[" + text + "]";
        case NodeKind::map:
            for (const auto& entry : node.entries) {
                text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", entry.key, write_node(entry.value));
            }
            return "{" + text + "}";
    }
    return text;
}

}  // namespace

Node parse_deck(const std::string& text) {
    deck::Diagnostics found;
    auto root = deck::parse_document(text, {"a random deck"}, found);
    if (!root) {
        throw Error{ErrorKind::internal, "a random deck is not YAML: " + found.print()};
    }
    return std::move(*root);
}

Node make_scalar(const std::string& text) {
    Node node;
    node.kind = NodeKind::scalar;
    node.text = text;
    return node;
}

deck::MapEntry& add_entry(Node& map, const std::string& key) {
    map.kind = NodeKind::map;
    auto& entry = map.entries.emplace_back();
    entry.key = key;
    return entry;
}

Node& value_at(Node& map, const std::string& key) {
    Node* found = map.find(key);
    return found == nullptr ? add_entry(map, key).value : *found;
}

std::string write_deck(const Node& root) {
    std::string text;
    for (const auto& section : root.entries) {
        text += fmt::format("{}: {}\n", section.key, write_node(section.value));
    }
    return text;
}

}  // namespace ziggurat::test
