#include "deck/effective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text/printable.hpp"
#include "deck/compose/compose.hpp"
#include "deck/values/reader.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::size_t comment_column = 44;

/// Returns the line of a value. `key` is its name, after the margin.
std::string line_of(const std::string& key, const DeckValue& value, SecretPolicy secrets) {
    const std::string line = key + ": " + (secrets == SecretPolicy::exposed ? value.written : value.shown());
    return fmt::format("{:<{}} # {}\n", line, comment_column, printable(value.origin.comment()));
}

/// Writes maps recursively; omits maps without values.
class DeckText {
  public:
    DeckText(const Schema& schema, const Values& values, SecretPolicy secrets)
        : schema_{schema}, values_{values}, secrets_{secrets} {}

    std::string map(const std::string& path, std::size_t indent) const {
        std::string text;
        for (const Row* row : schema_.children(path)) {
            const std::string name{leaf_of(row->path)};
            const std::string here = path.empty() ? name : path + "." + name;
            const std::string margin(indent, ' ');
            if (row->type == Type::map) {
                const std::string inside = map(here, indent + 2);
                text += inside.empty() ? "" : margin + name + ":\n" + inside;
            } else if (row->type == Type::list && values_.count(here) > 0) {
                text += margin + name + ":\n" + list(here, indent + 2);
            } else if (here != "model.preset") {  // its keys are written out
                text += leaf(here, margin + name);
            }
        }
        return text;
    }

  private:
    std::string list(const std::string& path, std::size_t indent) const {
        std::string text;
        for (std::int64_t i = 0; i < values_.count(path); ++i) {
            std::string element = map(fmt::format("{}[{}]", path, i), indent + 2);
            if (element.size() > indent) {
                element[indent] = '-';
            }
            text += element;
        }
        return text;
    }

    std::string leaf(const std::string& path, const std::string& key) const {
        const DeckValue* value = values_.find(path);
        if (value == nullptr) {
            return {};
        }
        return line_of(key, *value, secrets_);
    }

    const Schema& schema_;
    const Values& values_;
    SecretPolicy secrets_;
};

/// Returns the comment of a line written by DeckText: the origin of the value.
std::string_view comment_of(std::string_view line) {
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (quote != 0) {
            i += quote == '"' && line[i] == '\\' ? 1 : 0;
            quote = i < line.size() && line[i] == quote ? char{0} : quote;
        } else if (line[i] == '"' || line[i] == '\'') {
            quote = line[i];
        } else if (line[i] == '#' && i > 0 && line[i - 1] == ' ') {
            line.remove_prefix(std::min(line.find_first_not_of(' ', i + 1), line.size()));
            return line;
        }
    }
    return {};
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

}  // namespace

std::string effective_deck(const Schema& schema, const Values& values, SecretPolicy secrets) {
    return DeckText{schema, values, secrets}.map("", 0);
}

std::string with_value_of(const std::string& text, const Values& values, const std::string& key) {
    std::vector<std::string> names;  // from the outermost map to the key
    for (std::size_t begin = 0; begin <= key.size();) {
        const auto end = std::min(key.find('.', begin), key.size());
        names.push_back(key.substr(begin, end - begin));
        begin = end + 1;
    }
    std::size_t level = 0;  // number of names whose maps are open
    for (const auto line : lines_of(text)) {
        const auto indent = line.find_first_not_of(' ');
        if (indent == std::string_view::npos) {
            continue;
        }
        level = std::min(level, indent / 2);
        if (indent != 2 * level || !line.substr(indent).starts_with(names[level] + ":")) {
            continue;
        }
        if (++level == names.size()) {
            const std::size_t at = line.data() - text.data();
            const std::string name{line.substr(0, indent + names.back().size())};
            const auto written = line_of(name, *values.find(key), SecretPolicy::masked);
            return text.substr(0, at) + written + text.substr(std::min(at + line.size() + 1, text.size()));
        }
    }
    return text;
}

std::optional<Origin> origin_in(std::string_view text, int line) {
    const auto lines = lines_of(text);
    const auto comment =
        line < 1 || line > std::ssize(lines) ? std::string_view{} : comment_of(lines[line - 1]);
    return comment.empty() ? std::nullopt : std::optional{origin_of_comment(comment)};
}

std::optional<Values> read_effective_deck(const Schema& schema,
                                          const std::string& text,
                                          const std::string& name,
                                          Diagnostics& found) {
    const auto root = compose_record(schema, text, name, found);
    if (!root) {
        return std::nullopt;
    }
    Values values = read_values(schema, *root, found);
    if (!found.ok()) {
        return std::nullopt;
    }
    const auto lines = lines_of(text);
    values.replace_origins([&](const Origin& read) {
        const std::size_t line = std::max(0, read.at.line);
        const auto comment = line == 0 || line > lines.size() ? "" : comment_of(lines[line - 1]);
        return comment.empty() ? read : origin_of_comment(comment);
    });
    return values;
}

}  // namespace ziggurat::deck
