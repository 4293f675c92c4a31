#include "deck/document/document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_set>

#include "deck/document/json_escapes.hpp"
#include "deck/document/yaml_error.hpp"

namespace ziggurat::deck {
namespace {

/// Aborts the parse of a document after its errors have been reported.
struct Stop {};

/// Builds the tree from the parser's events, which have details that YAML::Node drops.
class TreeBuilder final : public YAML::EventHandler {
  public:
    TreeBuilder(const DocumentSource& source, Diagnostics& found) : source_{source}, found_{found} {}

    std::optional<Node> root;

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (++documents_ > 1) {
            stop(location(mark), "a second YAML document", "a deck is one document",
                 "Remove the line with three dashes.");
        }
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        Node node = make(NodeKind::null, mark);
        if (is_value_wanted()) {
            node.at = open_.back().pending.key_at;
        }
        put(std::move(node), anchor);
    }

    void OnScalar(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  const std::string& value) override {
        refuse_tag(tag, mark);
        Node node = make(NodeKind::scalar, mark);
        node.text = value;
        node.is_quoted = tag == "!";
        put(std::move(node), anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto known = anchors_.find(anchor);
        if (known == anchors_.end()) {
            stop(location(mark), "an alias inside its own anchor", "it would never end",
                 "Write the values out.");
        }
        spend(count_nodes(known->second), location(mark));
        if (static_cast<int>(open_.size()) + depth_of(known->second) > Limits::depth) {
            too_deep(mark);
        }
        put(known->second, YAML::NullAnchor);
    }

    void OnSequenceStart(const YAML::Mark& mark,
                         const std::string& tag,
                         YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        refuse_tag(tag, mark);
        start(make(NodeKind::list, mark), anchor, mark);
    }
    void OnSequenceEnd() override { finish(); }

    void OnMapStart(const YAML::Mark& mark,
                    const std::string& tag,
                    YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        refuse_tag(tag, mark);
        start(make(NodeKind::map, mark), anchor, mark);
    }
    void OnMapEnd() override {
        merge_inherited(open_.back());
        finish();
    }

  private:
    struct Open {
        Node node;
        YAML::anchor_t anchor = YAML::NullAnchor;
        MapEntry pending;  ///< a key without its value yet
        bool has_key = false;
        std::unordered_set<std::string> keys;
        std::vector<Node> inherited;  ///< values of `<<`
    };

    SourceLocation location(const YAML::Mark& mark) const {
        const bool is_first_line = mark.line <= 0;
        return {source_.file, source_.line + std::max(mark.line, 0),
                std::max(mark.column, 0) + (is_first_line ? source_.column : 1)};
    }

    [[noreturn]] void stop(SourceLocation at, std::string problem, std::string reason, std::string advice) {
        found_.error(std::move(at), std::move(problem), std::move(reason), std::move(advice));
        throw Stop{};
    }

    [[noreturn]] void too_deep(const YAML::Mark& mark) {
        stop(location(mark), fmt::format("nested deeper than {} levels", Limits::depth),
             "no key is nested that deep", "Flatten it.");
    }

    void refuse_tag(const std::string& tag, const YAML::Mark& mark) {
        if (!tag.empty() && tag != "?" && tag != "!") {
            stop(location(mark), "the YAML tag " + in_quotes(tag), "the type of a value follows from its key",
                 "Remove the tag.");
        }
    }

    void spend(std::size_t nodes, const SourceLocation& at) {
        nodes_ += nodes;
        if (nodes_ > Limits::nodes) {
            stop(at, fmt::format("more than {} values", Limits::nodes),
                 "aliases are counted as often as they are used", "Is this a deck?");
        }
    }

    Node make(NodeKind kind, const YAML::Mark& mark) {
        spend(1, location(mark));
        Node node;
        node.kind = kind;
        node.at = location(mark);
        node.writer = source_.writer;
        return node;
    }

    bool is_value_wanted() const {
        return !open_.empty() && open_.back().node.kind == NodeKind::map && open_.back().has_key;
    }

    void start(Node node, YAML::anchor_t anchor, const YAML::Mark& mark) {
        if (static_cast<int>(open_.size()) >= Limits::depth) {
            too_deep(mark);
        }
        open_.emplace_back();
        open_.back().node = std::move(node);
        open_.back().anchor = anchor;
    }

    void finish() {
        Open done = std::move(open_.back());
        open_.pop_back();
        put(std::move(done.node), done.anchor);
    }

    /// Adds a complete node to its list or map.
    void put(Node node, YAML::anchor_t anchor) {
        if (anchor != YAML::NullAnchor) {
            spend(count_nodes(node), node.at);
            anchors_[anchor] = node;
        }
        if (open_.empty()) {
            root = std::move(node);
            return;
        }
        Open& parent = open_.back();
        if (parent.node.kind == NodeKind::list) {
            parent.node.items.push_back(std::move(node));
        } else if (!parent.has_key) {
            take_key(parent, std::move(node));
        } else {
            take_value(parent, std::move(node));
        }
    }

    void take_key(Open& parent, Node key) {
        if (key.kind != NodeKind::scalar) {
            stop(key.at, "a key that is not a word", "a map's keys are plain words", "Write `key: value`.");
        }
        parent.has_key = true;
        parent.pending = {key.text, key.at, {}};
        if (key.text == "<<" && !key.is_quoted) {
            return;
        }
        if (!parent.keys.insert(key.text).second) {
            const auto first = std::find_if(parent.node.entries.begin(), parent.node.entries.end(),
                                            [&](const MapEntry& entry) { return entry.key == key.text; });
            found_.error(key.at, "duplicate key " + in_quotes(key.text),
                         fmt::format("it is already at line {}", first->key_at.line), "Remove one of them.");
        }
    }

    static void take_value(Open& parent, Node value) {
        parent.has_key = false;
        if (parent.pending.key == "<<") {
            parent.inherited.push_back(std::move(value));
            return;
        }
        parent.pending.value = std::move(value);
        parent.node.entries.push_back(std::move(parent.pending));
    }

    void merge_inherited(Open& map) {
        for (Node& value : map.inherited) {
            if (value.kind == NodeKind::map) {
                inherit(map, value);
                continue;
            }
            for (Node& item : value.items) {
                inherit(map, item);
            }
            if (value.kind != NodeKind::list) {
                stop(value.at, "'<<' merges a map or a list of maps", "this is neither",
                     "Name an anchored map.");
            }
        }
    }

    void inherit(Open& map, Node& from) {
        if (from.kind != NodeKind::map) {
            stop(from.at, "'<<' merges a map or a list of maps", "this is neither", "Name an anchored map.");
        }
        for (MapEntry& entry : from.entries) {
            if (map.keys.insert(entry.key).second) {
                map.node.entries.push_back(std::move(entry));
            }
        }
    }

    const DocumentSource& source_;
    Diagnostics& found_;
    std::vector<Open> open_;
    std::map<YAML::anchor_t, Node> anchors_;
    std::size_t nodes_ = 0;
    int documents_ = 0;
};

}  // namespace

std::optional<Node> parse_document(std::string_view text, const DocumentSource& source, Diagnostics& found) {
    if (!is_plain_text(text, source, found)) {
        return std::nullopt;
    }
    TreeBuilder builder{source, found};
    try {
        std::istringstream stream{join_surrogates(text)};
        YAML::Parser parser{stream};
        while (parser.HandleNextDocument(builder)) {}
    } catch (const Stop&) {
        return std::nullopt;
    } catch (const YAML::Exception& error) {
        const auto reason = explain_yaml(text,
                                         {static_cast<std::size_t>(std::max(error.mark.line, 0)),
                                          static_cast<std::size_t>(std::max(error.mark.column, 0))},
                                         error.msg);
        const auto line = static_cast<int>(reason.at.line);
        found.error({source.file, source.line + line,
                     static_cast<int>(reason.at.column) + (line == 0 ? source.column : 1)},
                    reason.problem, reason.reason, reason.advice);
        return std::nullopt;
    }
    if (!builder.root) {
        builder.root.emplace();
        builder.root->at = {source.file, source.line, source.column};
        builder.root->writer = source.writer;
    }
    return std::move(builder.root);
}

}  // namespace ziggurat::deck
