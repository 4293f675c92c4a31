#include <fmt/format.h>

#include <charconv>

#include "deck/compose/compose.hpp"
#include "deck/values/reader.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::size_t longest_override = 4096;
constexpr std::size_t deepest_path = 16;

/// One step of a path: a key or a list index.
struct Step {
    std::string key;
    std::optional<std::size_t> index;
};

std::optional<std::vector<Step>> steps_of(std::string_view path) {
    std::vector<Step> steps;
    while (!path.empty()) {
        if (path.front() == '[') {
            std::size_t index = 0;
            const auto [end, error] = std::from_chars(path.data() + 1, path.data() + path.size(), index);
            if (error != std::errc{} || end == path.data() + path.size() || *end != ']') {
                return std::nullopt;
            }
            steps.push_back({{}, index});
            path.remove_prefix(static_cast<std::size_t>(end - path.data()) + 1);
        } else {
            const std::size_t end = path.find_first_of(".[");
            steps.push_back({std::string{path.substr(0, end)}, std::nullopt});
            path.remove_prefix(end == std::string_view::npos ? path.size() : end);
            if (steps.back().key.empty()) {
                return std::nullopt;
            }
        }
        const bool is_dot = path.size() > 1 && path.front() == '.';
        if (!path.empty() && !is_dot && path.front() != '[') {
            return std::nullopt;
        }
        path.remove_prefix(is_dot ? 1 : 0);
    }
    return steps.empty() || steps.size() > deepest_path || steps.front().index
               ? std::nullopt
               : std::optional{std::move(steps)};
}

/// One override that is applied to a deck's tree.
class Override {
  public:
    Override(const Schema& schema, Node& root, int number, Diagnostics& found)
        : schema_{schema}, root_{root}, at_{command_line_name, number, 1}, found_{found} {}

    void apply(const std::string& text) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || text.size() > longest_override ||
            text.find('\n') != std::string::npos) {
            report_finding(fmt::format("{} is not an override", in_quotes(text)),
                           "an override is path.to.key=value");
            return;
        }
        const DocumentSource source{command_line_name, Writer::command_line, at_.line,
                                    static_cast<int>(equals) + 2};
        const std::string_view written = std::string_view{text}.substr(equals + 1);
        if (written.find_first_not_of(' ') == std::string_view::npos) {
            found_.error(at_, fmt::format("{} has no value", in_quotes(text.substr(0, equals))),
                         "the text after '=' is empty", "Write a value there, or null for the default.");
            return;
        }
        auto value = parse_document(written, source, found_);
        if (!value || !is_taken_whole(written, *value, static_cast<int>(equals) + 2)) {
            return;
        }
        const std::string path = full_path(text.substr(0, equals), *value);
        printed_ = text;
        const auto steps = steps_of(path);
        if (!steps) {
            report_finding(fmt::format("{} is not a path", in_quotes(path)),
                           "a path is train.steps or data.train[0].path");
            return;
        }
        if (steps->front().key == "include") {
            found_.error(at_, "include cannot be overridden",
                         "decks are included before overrides are applied",
                         "Write a deck that includes both, and name that one.");
            return;
        }
        Node* target = &root_;
        std::string walked;
        for (const Step& step : *steps) {
            target = walk(*target, step, walked);
            if (target == nullptr) {
                return;
            }
        }
        *target = std::move(*value);
    }

  private:
    /// Returns the full key: the target of an alias, or the key that a scalar for a map stands for.
    std::string full_path(std::string path, const Node& value) const {
        const Row* row = schema_.find(path);
        if (row != nullptr && row->type == Type::alias) {
            return row->shorthand;
        }
        const bool is_short = value.kind == NodeKind::scalar || value.kind == NodeKind::list;
        if (row != nullptr && row->type == Type::map && *row->shorthand != '\0' && is_short) {
            return fmt::format("{}.{}", path, row->shorthand);
        }
        return path;
    }

    /// Reports values that YAML would truncate at '#' or parse as something else than a value.
    bool is_taken_whole(std::string_view written, const Node& value, int column) {
        const std::size_t space = written.find(" #");
        const std::size_t comment = written.starts_with('#') ? 0 : space == written.npos ? space : space + 1;
        const bool is_plain =
            value.kind == NodeKind::null || (value.kind == NodeKind::scalar && !value.is_quoted);
        const bool is_null = written == "null" || written == "~" || written == "Null" || written == "NULL";
        if (is_plain && comment != std::string::npos) {
            found_.error({at_.file, at_.line, column + static_cast<int>(comment)}, "a comment in an override",
                         "YAML reads text after '#' as a comment",
                         fmt::format("Put the value in quotes: '{}'.", written));
            return false;
        }
        if (value.kind == NodeKind::null && !is_null) {
            found_.error(at_, fmt::format("{} is not a value", in_quotes(written)),
                         "its first character has another meaning in YAML",
                         fmt::format("Put it in quotes: '{}'.", written));
            return false;
        }
        return true;
    }

    /// Returns the override with list indices in brackets: `a[0].b=1` for `a.0.b=1`.
    std::string with_brackets() const {
        const auto end = printed_.find('=');
        std::string path;
        for (std::size_t at = 0; at <= end;) {
            const auto dot = std::min(printed_.find('.', at), end);
            const auto key = printed_.substr(at, dot - at);
            const bool is_place = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
            path += is_place ? "[" + key + "]" : (path.empty() ? "" : ".") + key;
            at = dot + 1;
        }
        return path + printed_.substr(end);
    }

    Node* walk(Node& from, const Step& step, std::string& walked) {
        if (step.index) {
            if (from.kind != NodeKind::list || *step.index >= from.items.size()) {
                report_finding(fmt::format("{}[{}] does not exist", walked, *step.index),
                               from.kind == NodeKind::list
                                   ? fmt::format("the list in the deck ends at [{}]",
                                                 static_cast<std::ptrdiff_t>(from.items.size()) - 1)
                                   : "the deck has no list there");
                return nullptr;
            }
            walked += fmt::format("[{}]", *step.index);
            return &from.items[*step.index];
        }
        if (from.kind == NodeKind::null) {
            from.kind = NodeKind::map;
            from.at = at_;
        }
        if (from.kind == NodeKind::list && step.key.find_first_not_of("0123456789") == std::string::npos) {
            found_.error(at_, fmt::format("'{}.{}' cannot be set", walked, step.key),
                         fmt::format("{} is a list", in_quotes(walked)),
                         fmt::format("Write {}.", with_brackets()));
            return nullptr;
        }
        if (from.kind != NodeKind::map) {
            report_finding(fmt::format("'{}.{}' cannot be set", walked, step.key),
                           fmt::format("{} is not a map in the deck", in_quotes(walked)));
            return nullptr;
        }
        walked = walked.empty() ? step.key : fmt::format("{}.{}", walked, step.key);
        if (Node* known = from.find(step.key)) {
            return known;
        }
        from.entries.push_back({step.key, at_, {}});
        from.entries.back().value.at = at_;
        return &from.entries.back().value;
    }

    void report_finding(std::string problem, std::string reason) {
        found_.error(at_, std::move(problem), std::move(reason),
                     "Correct it, or put the value into the deck.");
    }

    const Schema& schema_;
    Node& root_;
    std::string printed_;  ///< text of the override
    SourceLocation at_;
    Diagnostics& found_;
};

}  // namespace

void apply_overrides(const Schema& schema,
                     Node& root,
                     const std::vector<std::string>& overrides,
                     Diagnostics& found) {
    std::string all;
    for (const std::string& text : overrides) {
        all += text.substr(0, text.find('\n'));
        all += '\n';
    }
    found.remember(command_line_name, all);
    int number = 0;
    for (const std::string& text : overrides) {
        Override{schema, root, ++number, found}.apply(text);
    }
    expand_shorthands(schema, root, found);
}

}  // namespace ziggurat::deck
