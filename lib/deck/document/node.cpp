#include "deck/document/node.hpp"

#include <algorithm>

namespace ziggurat::deck {

Node* Node::find(std::string_view key) {
    const auto found =
        std::find_if(entries.begin(), entries.end(), [&](const MapEntry& entry) { return entry.key == key; });
    return found == entries.end() ? nullptr : &found->value;
}

const Node* Node::find(std::string_view key) const {
    return const_cast<Node*>(this)->find(key);
}

std::size_t count_nodes(const Node& node) {
    std::size_t count = 1;
    for (const Node& item : node.items) {
        count += count_nodes(item);
    }
    for (const MapEntry& entry : node.entries) {
        count += count_nodes(entry.value);
    }
    return count;
}

int depth_of(const Node& node) {
    int deepest = 0;
    for (const Node& item : node.items) {
        deepest = std::max(deepest, depth_of(item));
    }
    for (const MapEntry& entry : node.entries) {
        deepest = std::max(deepest, depth_of(entry.value));
    }
    return deepest + 1;
}

}  // namespace ziggurat::deck
