#include "deck/values/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "deck/messages/nearest.hpp"
#include "deck/messages/peer_names.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::int64_t longest_list = 1000;

std::string join(const std::string& path, std::string_view key) {
    return path.empty() ? std::string{key} : path + "." + std::string{key};
}

/// Returns true if an error was reported for the node or an item of its lists.
bool has_failed(const Node& node) {
    return node.is_failed || std::any_of(node.items.begin(), node.items.end(), has_failed);
}

/// Reader of one tree.
class Reader {
  public:
    Reader(const Schema& schema, Diagnostics& found) : schema_{schema}, found_{found} {}

    Values run(const Node& root) {
        values_.set_location("", root.at);
        read_map("", root);
        fill_defaults();
        return std::move(values_);
    }

  private:
    void read_map(const std::string& path, const Node& node) {
        if (node.kind == NodeKind::null) {
            return;
        }
        if (node.kind != NodeKind::map) {
            const Row* row = schema_.find(path);
            report_finding(path, node.at, fmt::format("{} is not a map", shown_map(path)),
                           row == nullptr ? "" : reason_of(*row),
                           "Write its keys below it: " + keys_of(path) + ".");
            return;
        }
        for (const MapEntry& entry : node.entries) {
            read_entry(path, entry);
        }
    }

    void read_entry(const std::string& parent, const MapEntry& entry) {
        const std::string path = join(parent, entry.key);
        const Row* row = is_plain(entry.key) ? schema_.find(path) : nullptr;
        if (row == nullptr) {
            unknown(parent, entry);
            return;
        }
        const bool is_overridden = entry.value.writer == Writer::command_line;
        values_.set_location(path, is_overridden ? entry.value.at : entry.key_at);
        if (entry.value.kind == NodeKind::null) {
            leave_empty(*row, path);
            return;
        }
        if (has_failed(entry.value)) {
            values_.mark_bad(path);
            return;
        }
        if (row->type == Type::map) {
            read_map(path, entry.value);
        } else if (row->type == Type::list && entry.value.kind != NodeKind::scalar) {
            read_list(*row, path, entry.value);
        } else if (row->type != Type::variables && path != "include") {
            read_leaf(*row, path, entry.value);
        }
    }

    /// Handles a key without a value: its default applies.
    ///
    /// Without a default, resolving may require the key.
    void leave_empty(const Row& row, const std::string& path) {
        values_.mark_empty(path);
        if (row.type != Type::map && row.fallback != nullptr && found_.ok()) {
            found_.note(values_.location(path), fmt::format("'{}' has no value", path),
                        fmt::format("its default applies, {}", row.fallback));
        }
    }

    void read_leaf(const Row& row, const std::string& path, const Node& node) {
        auto value = read_value(row, path, node, found_);
        if (!value) {
            values_.mark_bad(path);
            return;
        }
        values_.set(path, std::move(*value));
    }

    void read_list(const Row& row, const std::string& path, const Node& node) {
        if (node.kind != NodeKind::list || static_cast<std::int64_t>(node.items.size()) > longest_list) {
            report_finding(path, node.at,
                           fmt::format("'{}' is not a list of up to {} maps", path, longest_list),
                           reason_of(row), "Write each as `- {" + keys_of(path + "[]") + "}`.");
            return;
        }
        values_.set_count(path, static_cast<std::int64_t>(node.items.size()));
        if (node.items.empty()) {
            values_.mark_empty(path);
        }
        for (std::size_t i = 0; i < node.items.size(); ++i) {
            const std::string element = fmt::format("{}[{}]", path, i);
            values_.set_location(element, node.items[i].at);
            if (node.items[i].kind == NodeKind::null) {
                report_finding(element, node.items[i].at, fmt::format("{} is empty", element), reason_of(row),
                               "Its keys are " + keys_of(element) + ".");
            }
            read_map(element, node.items[i]);
        }
    }

    void fill_defaults() {
        for (const Row& row : schema_.rows()) {
            const std::string path = row.path;
            const std::size_t element = path.find("[].");
            if (element == std::string::npos) {
                fill_default(row, path);
                continue;
            }
            const std::string list = path.substr(0, element);
            for (std::int64_t i = 0; i < values_.count(list); ++i) {
                fill_default(row, fmt::format("{}[{}].{}", list, i, path.substr(element + 3)));
            }
        }
    }

    void fill_default(const Row& row, const std::string& path) {
        const bool is_needed = row.fallback != nullptr && !values_.has(path) && !values_.is_bad(path);
        if (is_needed && !(row.type == Type::list && values_.count(path) > 0)) {
            values_.set(path, value_of(row, row.fallback));
        }
    }

    void unknown(const std::string& parent, const MapEntry& entry) {
        std::vector<std::string_view> names;
        for (const Row* row : schema_.children(parent)) {
            names.push_back(leaf_of(row->path));
        }
        std::string meant = nearest(entry.key, names);
        meant = meant.empty() ? elsewhere(entry.key) : join(parent, meant);
        const PeerName* peer = find_peer_name(entry.key);
        const bool is_path =
            entry.key.find('.') != std::string::npos && schema_.find(join(parent, entry.key)) != nullptr;
        const char* reason = is_path ? "paths with dots are for the command line; a deck nests its maps"
                                     : "unknown keys are never ignored";
        const std::string guess = is_path           ? ""
                                  : peer != nullptr ? describe(*peer) + " "
                                  : meant.empty()   ? ""
                                                    : fmt::format("Did you mean '{}'? ", meant);
        found_.error(entry.key_at, fmt::format("unknown key {}", in_quotes(join(parent, entry.key))), reason,
                     fmt::format("{}Keys of {}: {}.", guess, shown_map(parent), keys_of(parent)));
    }

    /// Returns the first key in another map with this name.
    std::string elsewhere(std::string_view key) const {
        for (const Row& row : schema_.rows()) {
            if (leaf_of(row.path) == key) {
                return row.path;
            }
        }
        return {};
    }

    std::string shown_map(const std::string& path) const {
        return path.empty() ? schema_.noun() : "'" + path + "'";
    }

    std::string keys_of(const std::string& path) const {
        std::string keys;
        for (const Row* row : schema_.children(path)) {
            keys += (keys.empty() ? "" : ", ") + std::string{leaf_of(row->path)};
        }
        return keys;
    }

    void report_finding(const std::string& path,
                        const SourceLocation& at,
                        std::string problem,
                        std::string reason,
                        std::string advice) {
        found_.error(at, std::move(problem), std::move(reason), std::move(advice));
        values_.mark_bad(path);
    }

    static bool is_plain(std::string_view key) { return key.find_first_of(".[]") == std::string_view::npos; }

    const Schema& schema_;
    Diagnostics& found_;
    Values values_;
};

/// Moves the value of an alias to its target.
void follow_alias(Node& map, std::size_t at, const std::string& target, Diagnostics& found) {
    MapEntry alias = std::move(map.entries[at]);
    map.entries.erase(map.entries.begin() + static_cast<std::ptrdiff_t>(at));
    // Targets are siblings or one level below: `clip.norm` relative to `optimizer`.
    const std::string sibling = target.substr(0, target.find('.'));
    const std::string leaf{leaf_of(target)};
    Node* around = map.find(sibling);
    if (around != nullptr && around->kind == NodeKind::map && around->find(leaf) != nullptr) {
        found.error(alias.key_at,
                    fmt::format("{} and {} are both given", in_quotes(alias.key), in_quotes(target)),
                    "they are two spellings of one key", "Remove one of them.");
        return;
    }
    if (around == nullptr || around->kind == NodeKind::null) {
        Node made;
        made.kind = NodeKind::map;
        made.at = alias.key_at;
        made.writer = alias.value.writer;
        if (around == nullptr) {
            map.entries.push_back({sibling, alias.key_at, std::move(made)});
        } else {
            *around = std::move(made);
        }
        around = map.find(sibling);
    }
    if (around->kind == NodeKind::map) {
        around->entries.push_back({leaf, alias.key_at, std::move(alias.value)});
    }
}

/// Assigns a keyword given for a map to each of its keys: `throttle: none`.
void spread_word(const Schema& schema, const Row& row, Node& value) {
    const auto keywords = split_words(row.keywords);
    if (value.kind != NodeKind::scalar ||
        std::find(keywords.begin(), keywords.end(), value.text) == keywords.end()) {
        return;
    }
    Node whole;
    whole.kind = NodeKind::map;
    whole.at = value.at;
    whole.writer = value.writer;
    for (const Row* key : schema.children(row.path)) {
        whole.entries.push_back({std::string{leaf_of(key->path)}, value.at, value});
    }
    value = std::move(whole);
}

/// Returns true if a value of the row may be a list in brackets.
bool accepts_list(const Row& row) {
    constexpr std::array types{Type::interval, Type::list,         Type::texts,       Type::reals,
                               Type::integers, Type::real_by_step, Type::keyword_list};
    return std::ranges::find(types, row.type) != types.end();
}

void expand(const Schema& schema, const std::string& path, Node& map, Diagnostics& found) {
    for (std::size_t i = 0; i < map.entries.size(); ++i) {
        const std::string here = join(path, map.entries[i].key);
        const Row* row = schema.find(here);
        Node& value = map.entries[i].value;
        if (row != nullptr && row->type == Type::list) {
            for (Node& item : value.items) {
                expand(schema, here + "[]", item, found);
            }
        }
        if (row == nullptr || row->type != Type::map) {
            continue;
        }
        const bool is_short =
            *row->shorthand != '\0' && value.kind != NodeKind::map && value.kind != NodeKind::null;
        if (is_short &&
            (value.kind == NodeKind::scalar || accepts_list(*schema.find(join(here, row->shorthand))))) {
            Node whole;
            whole.kind = NodeKind::map;
            whole.at = value.at;
            whole.writer = value.writer;
            whole.entries.push_back({row->shorthand, value.at, std::move(value)});
            value = std::move(whole);
        }
        spread_word(schema, *row, value);
        expand(schema, here, value, found);
    }
    // Processed after the maps, so that `clip: 1` together with `clip_norm: 1` is found to be a duplicate.
    for (std::size_t i = map.entries.size(); i-- > 0;) {
        const Row* row = schema.find(join(path, map.entries[i].key));
        if (row != nullptr && row->type == Type::alias) {
            follow_alias(map, i, std::string{row->shorthand}.substr(path.empty() ? 0 : path.size() + 1),
                         found);
        }
    }
}

}  // namespace

void expand_shorthands(const Schema& schema, Node& root, Diagnostics& found) {
    if (root.kind == NodeKind::map) {
        expand(schema, "", root, found);
    }
}

Values read_values(const Schema& schema, const Node& root, Diagnostics& found) {
    return Reader{schema, found}.run(root);
}

}  // namespace ziggurat::deck
