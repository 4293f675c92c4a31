#include "deck/record_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "deck/effective.hpp"
#include "deck/values/working_folder.hpp"

namespace ziggurat::deck {
namespace {

/// Returns the node at `path`, which contains only keys of maps; nullptr if it does not exist.
Node* find_node(Node& root, std::string_view path) {
    Node* node = &root;
    while (node != nullptr && !path.empty()) {
        const auto key = path.substr(0, path.find('.'));
        path.remove_prefix(std::min(path.size(), key.size() + 1));
        node = node->find(key);
    }
    return node;
}

/// Automatic choices that depend on the node alone. They change no result of a step.
constexpr std::array choices_of_node{"parallel.threads", "tiers.device.budget", "tiers.host.budget"};

class Reopening {
  public:
    Reopening(const Schema& schema, const std::string& text) : schema_{schema}, text_{text} {}

    /// Returns true if the program chose the value, not a deck or a command line.
    bool is_chosen(const Node& value) const {
        const auto origin = origin_of(value);
        return origin && (origin->kind == OriginKind::automatic ||
                          (origin->kind == OriginKind::fallback && !origin->note.empty()));
    }

    std::optional<Origin> origin_of(const Node& value) const {
        return value.writer == Writer::deck ? origin_in(text_, value.at.line) : std::nullopt;
    }

    /// Resets the value at `path` if it was chosen.
    void open_one(Node& root, const std::string& path) const {
        const auto dot = path.rfind('.');
        Node* parent = find_node(root, path.substr(0, dot));
        Node* value = parent == nullptr ? nullptr : parent->find(path.substr(dot + 1));
        if (value != nullptr && is_chosen(*value)) {
            open(*value, schema_.find(path));
            std::erase_if(parent->entries,
                          [](const MapEntry& entry) { return entry.value.kind == NodeKind::null; });
        }
    }

    /// Resets all automatic choices in `map`, which is at `path`.
    void open_all(Node& map, const std::string& path) const {
        for (auto& [key, key_at, value] : map.entries) {
            const std::string here = path.empty() ? key : path + "." + key;
            const Row* row = schema_.find(here);
            if (value.kind == NodeKind::map && row != nullptr && row->type == Type::map) {
                open_all(value, here);
            } else if (row != nullptr && row->type == Type::list) {
                open_list(value, here, *row);
            } else if (is_chosen(value) &&
                       here != working_folder_key) {  // needed: it is the folder in which the run was started
                open(value, row);
            } else if (const auto keyword = keyword_of(value, row); !keyword.empty()) {
                value.text = keyword;
            }
        }
        std::erase_if(map.entries, [](const MapEntry& entry) { return entry.value.kind == NodeKind::null; });
    }

  private:
    /// Returns the keyword of a deck or command line whose number the value is; empty for other values.
    ///
    /// The origin of such a number is followed by the keyword: `deck x.yaml:9: flat: all data ranks`.
    std::string keyword_of(const Node& value, const Row* row) const {
        const auto origin = value.kind == NodeKind::scalar ? origin_of(value) : std::nullopt;
        const auto colon = origin ? origin->note.find(": ") : std::string::npos;
        if (row == nullptr || row->type != Type::integer || colon == std::string::npos) {
            return {};
        }
        const auto keyword = origin->note.substr(0, colon);
        const auto keywords = split_words(row->keywords);
        return std::ranges::find(keywords, keyword) == keywords.end() ? std::string{} : keyword;
    }

    void open_list(Node& list, const std::string& path, const Row& row) const {
        if (list.kind != NodeKind::list && is_chosen(list)) {
            open(list, &row);
            return;
        }
        bool is_empty = list.kind == NodeKind::list && !list.items.empty();
        for (auto& item : list.items) {
            if (item.kind == NodeKind::map) {
                open_all(item, path + "[]");
            }
            is_empty = is_empty && item.kind == NodeKind::map && item.entries.empty();
        }
        if (is_empty) {
            open(list, &row);
        }
    }

    /// Resets a value to auto if the key accepts it, else to null, which means its default.
    static void open(Node& value, const Row* row) {
        const auto keywords = row == nullptr ? std::vector<std::string_view>{} : split_words(row->keywords);
        Node opened;
        opened.at = value.at;
        opened.writer = value.writer;
        if (std::ranges::find(keywords, "auto") != keywords.end()) {
            opened.kind = NodeKind::scalar;
            opened.text = "auto";
        }
        value = std::move(opened);
    }

    const Schema& schema_;
    const std::string& text_;
};

/// Returns N of the origin `N ranks / (tensor 1 ...)` of parallel.data; 0 for other origins.
int ranks_of_choice(const std::optional<Origin>& origin) {
    int ranks = 0;
    if (origin && origin->kind == OriginKind::automatic && origin->note.find(" / (") != std::string::npos) {
        std::from_chars(origin->note.data(), origin->note.data() + origin->note.size(), ranks);
    }
    return ranks;
}

}  // namespace

bool reopen_choices(
    const Schema& schema, Node& root, const std::string& text, int ranks, Diagnostics& found) {
    const Reopening reopening{schema, text};
    if (Node* limit = find_node(root, "run.time_limit"); limit != nullptr && reopening.is_chosen(*limit)) {
        limit->text = "auto";
    }
    for (const char* path : choices_of_node) {
        reopening.open_one(root, path);
    }
    const Node* data = find_node(root, "parallel.data");
    const int recorded = data == nullptr ? 0 : ranks_of_choice(reopening.origin_of(*data));
    const bool are_others = recorded > 0 && ranks > 0 && ranks != recorded;
    if (are_others) {
        found.note(data->at, fmt::format("the run had {} rank{}", recorded, recorded == 1 ? "" : "s"),
                   "automatic choices are made again");
        reopening.open_all(root, "");
    }
    return are_others;
}

void keep_origins(Values& values, const std::string& file, const std::string& text) {
    values.replace_origins([&](const Origin& origin) {
        const bool is_of_record =
            origin.kind == OriginKind::deck && origin.at.file == file && origin.note.empty();
        return is_of_record ? origin_in(text, origin.at.line).value_or(origin) : origin;
    });
}

}  // namespace ziggurat::deck
