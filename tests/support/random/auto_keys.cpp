#include "tests/support/random/auto_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "deck/document/document.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/quantities.hpp"
#include "tests/support/random/draw.hpp"

namespace ziggurat::test {
namespace {

using deck::Node;
using deck::NodeKind;

Node make_scalar(const std::string& text) {
    Node node;
    node.kind = NodeKind::scalar;
    node.text = text;
    return node;
}

deck::MapEntry& add(Node& map, const std::string& key) {
    auto& entry = map.entries.emplace_back();
    entry.key = key;
    return entry;
}

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

/// Sets keys of a deck's tree.
class Setter {
  public:
    Setter(Draw& draw, int stages) : draw_{draw}, stages_{stages} {}

    /// \param path  rest of the path below `node`, whose path is `here`
    void set(Node& node, const std::string& here, std::string_view path) {
        const auto key = path.substr(0, path.find('.'));
        const bool is_list = key.ends_with("[]");
        const std::string name{is_list ? key.substr(0, key.size() - 2) : key};
        const auto below = here.empty() ? name : here + "." + name;
        make_map(node, here);
        Node* value = node.find(name);
        if (value == nullptr) {
            value = &add(node, name).value;
        }
        if (key == path) {
            *value = make_scalar("auto");
        } else if (is_list) {
            set_in_list(*value, below, path.substr(key.size() + 1));
        } else {
            set(*value, below, path.substr(key.size() + 1));
        }
    }

  private:
    /// Makes a scalar that is short for one key a map of that key.
    static void make_map(Node& node, const std::string& path) {
        if (node.kind == NodeKind::map) {
            return;
        }
        const auto* row = deck::deck_schema().find(path);
        Node map;
        map.kind = NodeKind::map;
        if (node.kind != NodeKind::null && row != nullptr && !std::string_view{row->shorthand}.empty()) {
            add(map, row->shorthand).value = node;
        }
        node = std::move(map);
    }

    void set_in_list(Node& list, const std::string& path, std::string_view rest) {
        if (list.kind != NodeKind::list) {
            list = {};
            list.kind = NodeKind::list;
            list.items.resize(path == "parallel.pipeline.each" ? static_cast<std::size_t>(stages_) : 1);
        }
        auto& items = list.items;
        set(items[static_cast<std::size_t>(draw_.between(0, std::ssize(items) - 1))], path + "[]", rest);
        for (auto& item : items) {
            make_map(item, path + "[]");
        }
    }

    Draw& draw_;
    int stages_;
};

}  // namespace

std::vector<std::string> keys_with_auto() {
    std::vector<std::string> paths;
    for (const auto& row : deck::deck_schema().rows()) {
        const auto keywords = deck::split_words(row.keywords);
        if (std::ranges::find(keywords, "auto") != keywords.end()) {
            paths.emplace_back(row.path);
        }
    }
    return paths;
}

OpenDeck with_auto_keys(const std::string& text, std::uint64_t seed, int stages, int max) {
    if (max == 0) {
        return {text, {}};
    }
    deck::Diagnostics found;
    auto root = deck::parse_document(text, {"a random deck"}, found);
    if (!root) {
        throw Error{ErrorKind::internal, "a random deck is not YAML: " + found.print()};
    }
    Draw draw{seed + 9'000'000};
    const auto all = keys_with_auto();
    OpenDeck made;
    Setter setter{draw, stages};
    for (auto left = draw.between(1, max); left > 0; --left) {
        const auto& key = made.keys.empty() ? all[seed % all.size()] : draw.one_of(all);
        if (std::ranges::find(made.keys, key) == made.keys.end()) {
            setter.set(*root, "", key);
            made.keys.push_back(key);
        }
    }
    for (const auto& section : root->entries) {
        made.text += fmt::format("{}: {}\n", section.key, write_node(section.value));
    }
    return made;
}

}  // namespace ziggurat::test
