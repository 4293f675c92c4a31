#include "deck/effective.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::size_t comment_column = 44;

/// Writes maps from the outside in; a map without values is left out.
class Writer {
  public:
    Writer(const Schema& schema, const Values& values) : schema_{schema}, values_{values} {}

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
        const Value* value = values_.find(path);
        if (value == nullptr) {
            return {};
        }
        const std::string line = key + ": " + value->written;
        return fmt::format("{:<{}} # {}\n", line, comment_column, printable(value->origin.comment()));
    }

    const Schema& schema_;
    const Values& values_;
};

}  // namespace

std::string effective_deck(const Schema& schema, const Values& values) {
    return Writer{schema, values}.map("", 0);
}

}  // namespace ziggurat::deck
