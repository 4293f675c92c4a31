#include "tests/support/random/auto_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "deck/schema/schema.hpp"
#include "tests/support/random/deck_tree.hpp"
#include "tests/support/random/draw.hpp"

namespace ziggurat::test {
namespace {

using deck::Node;
using deck::NodeKind;

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
            value = &add_entry(node, name).value;
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
            add_entry(map, row->shorthand).value = node;
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

/// Writes what a rule wants next to an auto key, so that fewer decks are refused.
void complete(Node& root, const std::string& key, int stages) {
    const auto section = [&](const char* name) -> Node& { return value_at(root, name); };
    if (key.starts_with("sharding.")) {
        // Spans and a ZeRO stage exclude each other.
        const bool is_stage = key == "sharding.zero";
        std::erase_if(section("sharding").entries, [&](const deck::MapEntry& entry) {
            const bool is_span =
                entry.key == "parameters" || entry.key == "gradients" || entry.key == "optimizer";
            return is_stage ? is_span : key != "sharding.leases" && entry.key == "zero";
        });
    } else if (key.starts_with("train.lora.")) {
        Node& lora = *section("train").find("lora");
        if (lora.find("rank") == nullptr) {
            add_entry(lora, "rank").value = make_scalar("2");
        }
    } else if (key.starts_with("data.validation[]")) {
        Node& source = section("data").find("validation")->items.front();
        for (const auto& entry : section("data").find("train")->items.front().entries) {
            if (source.find(entry.key) == nullptr) {
                source.entries.push_back(entry);
            }
        }
    } else if (key.starts_with("parallel.pipeline.each[]")) {
        auto& items = section("parallel").find("pipeline")->find("each")->items;
        const auto* all = section("model").find("layers");
        int left = all == nullptr ? stages : std::stoi(all->text);
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (items[i].find("layers") == nullptr) {
                const int here = left / static_cast<int>(items.size() - i);
                add_entry(items[i], "layers").value = make_scalar(fmt::format("{}", here));
                left -= here;
            }
        }
    }
}

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
    auto root = parse_deck(text);
    Draw draw{seed + 9'000'000};
    const auto all = keys_with_auto();
    OpenDeck made;
    Setter setter{draw, stages};
    for (auto left = draw.between(1, max); left > 0; --left) {
        const auto& key = made.keys.empty() ? all[seed % all.size()] : draw.one_of(all);
        if (std::ranges::find(made.keys, key) == made.keys.end()) {
            setter.set(root, "", key);
            made.keys.push_back(key);
            if (draw.chance(0.8)) {
                complete(root, key, stages);
            }
        }
    }
    made.text = write_deck(root);
    return made;
}

}  // namespace ziggurat::test
