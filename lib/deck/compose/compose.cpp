#include "deck/compose/compose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "deck/messages/missing_path.hpp"
#include "deck/messages/nearest.hpp"
#include "deck/values/reader.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

/// Returns true for a map that is a single value, such as the shares of a home: it is never merged.
bool is_value(const Schema& schema, const std::string& path) {
    const Row* row = schema.find(path);
    return row != nullptr && row->type != Type::map && row->type != Type::variables;
}

/// Merges `from` into `into`, both at `path`. Maps of keys are merged; all other values are replaced.
void merge(const Schema& schema, const std::string& path, Node& into, Node&& from) {
    if (into.kind != NodeKind::map || from.kind != NodeKind::map || is_value(schema, path)) {
        into = std::move(from);
        return;
    }
    for (MapEntry& entry : from.entries) {
        const auto same = std::find_if(into.entries.begin(), into.entries.end(),
                                       [&](const MapEntry& other) { return other.key == entry.key; });
        if (same == into.entries.end()) {
            into.entries.push_back(std::move(entry));
        } else {
            same->key_at = entry.key_at;
            merge(schema, path.empty() ? entry.key : path + "." + entry.key, same->value,
                  std::move(entry.value));
        }
    }
}

/// Resolver of includes, for one deck.
class Composer {
  public:
    enum class Includes { followed, refused };

    Composer(const Schema& schema, Includes includes, Diagnostics& found)
        : schema_{schema}, includes_{includes}, found_{found} {}

    std::optional<Node> file(const std::string& text, const std::string& name, Writer writer) {
        auto root = writer == Writer::include ? parse_included(text, name) : parse(text, name);
        if (!root) {
            return std::nullopt;
        }
        expand_shorthands(schema_, *root, found_);
        return with_includes(std::move(*root), name);
    }

  private:
    /// Parses the deck that the user named. Messages show its lines.
    std::optional<Node> parse(const std::string& text, const std::string& name) {
        found_.remember(name, text);
        auto root = parse_document(text, {name, Writer::deck}, found_);
        if (root && root->kind == NodeKind::null) {
            root->kind = NodeKind::map;
        }
        if (root && root->kind != NodeKind::map) {
            found_.error(root->at, "this is not a deck", "a deck is a map of keys",
                         fmt::format("Begin with deck_version: {}.", deck_version));
            return std::nullopt;
        }
        return root;
    }

    /// Parses a file that a deck includes. Messages show its lines only if it has keys of a deck.
    ///
    /// A deck from elsewhere may include any file, such as one with passwords.
    std::optional<Node> parse_included(const std::string& text, const std::string& name) {
        Diagnostics problems;
        auto root = parse_document(text, {name, Writer::include}, problems);
        if (root && root->kind == NodeKind::null) {
            root->kind = NodeKind::map;
        }
        if (!root || root->kind != NodeKind::map || !has_deck_key(*root)) {
            const auto at = root ? root->at : problems.sorted().back().at;
            found_.error(at, root ? "the included file is not a deck" : "the included file is not YAML",
                         "its lines are not shown, because a deck may include any file",
                         fmt::format("Include a deck. `ziggurat check {}` shows the line.", name));
            return std::nullopt;
        }
        found_.remember(name, text);
        for (Problem& problem : problems.sorted()) {
            found_.add(std::move(problem));
        }
        return root;
    }

    /// True if a key at the top level is one of a deck or is similar to one, or if the map is empty.
    bool has_deck_key(const Node& root) const {
        std::vector<std::string_view> names;
        for (const Row* row : schema_.children("")) {
            names.push_back(row->path);
        }
        return root.entries.empty() || std::ranges::any_of(root.entries, [&](const MapEntry& entry) {
                   const auto first = entry.key.substr(0, entry.key.find('.'));
                   return !nearest(first, names).empty();
               });
    }

    std::optional<Node> with_includes(Node root, const std::string& name) {
        const Node* list = root.find("include");
        if (list == nullptr || list->kind == NodeKind::null) {
            return root;
        }
        if (includes_ == Includes::refused) {
            found_.error(list->at, "a recorded deck includes files", "a recorded deck is self-contained",
                         "It was edited after the run: do not trust it.");
            return std::nullopt;
        }
        if (list->kind != NodeKind::list) {
            found_.error(list->at, "include is not a list",
                         "several decks may be included; later ones take precedence", "Write [common.yaml].");
            return std::nullopt;
        }
        open_.push_back(identity(name));
        std::optional<Node> base{std::in_place};
        base->kind = NodeKind::map;
        for (const Node& item : list->items) {
            auto included = include(item, name);
            if (!included) {
                base.reset();
                break;
            }
            merge(schema_, "", *base, std::move(*included));
        }
        open_.pop_back();
        if (base) {
            base->at = root.at;
            base->writer = root.writer;
            merge(schema_, "", *base, std::move(root));
        }
        return base;
    }

    std::optional<Node> include(const Node& item, const std::string& from) {
        if (item.kind != NodeKind::scalar || item.text.empty()) {
            found_.error(item.at, "include names no file", "each item is a path", "Write [common.yaml].");
            return std::nullopt;
        }
        if (item.text.find('\0') != std::string::npos) {
            found_.error(item.at, "include has the character NUL", "names of files end there", "Remove it.");
            return std::nullopt;
        }
        if (item.text.find("${") != std::string::npos) {
            found_.error(item.at, fmt::format("include with a variable, {}", in_quotes(item.text)),
                         "decks are included before variables are known", "Write the path itself.");
            return std::nullopt;
        }
        const std::string path = (fs::path{from}.parent_path() / item.text).lexically_normal().string();
        if (std::find(open_.begin(), open_.end(), identity(path)) != open_.end()) {
            found_.error(item.at, fmt::format("{} includes itself", in_quotes(path)),
                         "the decks form a cycle", "Remove one of the includes.");
            return std::nullopt;
        }
        if (++files_ > Limits::files || open_.size() > Limits::include_depth) {
            found_.error(item.at,
                         fmt::format("more than {} included decks, or {} levels of them", Limits::files,
                                     Limits::include_depth),
                         "this looks like a mistake", "Include less.");
            return std::nullopt;
        }
        const auto text = read_file(path, "included deck", item.at, found_);
        return text ? file(*text, path, Writer::include) : std::nullopt;
    }

    /// Returns an identical text for all spellings of a file's path.
    static std::string identity(const std::string& path) {
        std::error_code error;
        const fs::path whole = fs::weakly_canonical(path, error);
        return error ? path : whole.string();
    }

    const Schema& schema_;
    Includes includes_;
    Diagnostics& found_;
    std::vector<std::string> open_;  ///< chain of including files
    int files_ = 0;
};

}  // namespace

std::optional<std::string> read_file(const std::string& path,
                                     const char* what,
                                     const SourceLocation& at,
                                     Diagnostics& found) {
    const auto refuse = [&](const std::string& reason) {
        found.error(at, fmt::format("cannot read the {} {}", what, in_quotes(path)), reason,
                    "Check the path.");
        return std::nullopt;
    };
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) {
        refuse("there is no such file");
        note_where_looked(
            found, at, path,
            at.line > 0 ? "paths of include are relative to the folder of the including file" : "");
        return std::nullopt;
    }
    if (error || status.type() != fs::file_type::regular) {
        return refuse(error ? error.message() : "it is not a file");
    }
    if (fs::file_size(path, error) > Limits::file_bytes || error) {
        return refuse(error ? error.message()
                            : fmt::format("it has more than {} KiB", Limits::file_bytes / 1024));
    }
    std::ifstream file{path, std::ios::binary};
    if (!file) {
        return refuse("it is not readable");
    }
    return std::string{std::istreambuf_iterator<char>{file}, {}};
}

std::optional<Node> compose(const Schema& schema,
                            const std::string& text,
                            const std::string& file,
                            Diagnostics& found) {
    return Composer{schema, Composer::Includes::followed, found}.file(text, file, Writer::deck);
}

std::optional<Node> compose_record(const Schema& schema,
                                   const std::string& text,
                                   const std::string& name,
                                   Diagnostics& found) {
    auto root = Composer{schema, Composer::Includes::refused, found}.file(text, name, Writer::deck);
    if (!root) {
        return root;
    }
    bool asks = false;
    const Environment empty = [&asks](const std::string& variable) -> std::optional<std::string> {
        if (is_secret(variable)) {
            return as_variable(variable);
        }
        asks = true;
        return std::string{"nothing"};
    };
    substitute_variables(*root, empty, found);
    if (asks) {
        found.error({name, 0, 0}, "a recorded deck uses environment variables",
                    "a recorded deck is self-contained", "It was edited after the run: do not trust it.");
    }
    return root;
}

}  // namespace ziggurat::deck
