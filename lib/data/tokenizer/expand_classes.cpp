#include <fmt/format.h>

#include "base/error.hpp"
#include "data/unicode/unicode_classes.hpp"

namespace ziggurat::data {
namespace {

/// Rewrites an expression from start to end.
class ClassExpander {
  public:
    explicit ClassExpander(const std::string& expression) : expression_{expression} {}

    std::string run() {
        while (at_ < expression_.size()) {
            if (starts_with("(?#")) {
                copy_to(expression_.find(')', at_) + 1);
            } else if (expression_[at_] == '\\') {
                write_escape();
            } else if (depth_ > 0 && starts_with("[:")) {
                write_posix_class();
            } else {
                write_other();
            }
        }
        return made_;
    }

  private:
    bool starts_with(std::string_view text) const {
        return std::string_view{expression_}.substr(at_).starts_with(text);
    }
    void copy_to(std::size_t end) {
        end = end == 0 ? expression_.size() : std::min(end, expression_.size());
        made_.append(expression_, at_, end - at_);
        at_ = end;
    }

    void write_escape() {
        const char kind = at_ + 1 < expression_.size() ? expression_[at_ + 1] : '\0';
        if ((kind == 'p' || kind == 'P') && at_ + 2 < expression_.size() && expression_[at_ + 2] == '{') {
            write_property(kind == 'P');
        } else if (kind == 'd' || kind == 'D') {
            write_class("nd", kind == 'D', at_ + 2);
        } else if (kind == 'w' || kind == 'W') {
            // Outside of brackets, the engine's \w also includes the non-decimal digits of ISO 8859-1.
            const char* const more = depth_ == 0 ? R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})" : "";
            write_class("word", kind == 'W', at_ + 2, more);
        } else {
            copy_to(at_ + 2);
        }
    }

    void write_property(bool is_negated) {
        const auto end = expression_.find('}', at_);
        if (end == std::string::npos) {
            copy_to(expression_.size());
            return;
        }
        auto name = expression_.substr(at_ + 3, end - at_ - 3);
        if (name.starts_with('^')) {
            is_negated = !is_negated;
            name.erase(0, 1);
        }
        if (name.starts_with("In_") || name.starts_with("in_")) {
            copy_to(end + 1);
        } else {
            write_class(name, is_negated, end + 1);
        }
    }

    void write_posix_class() {
        const auto end = expression_.find(":]", at_ + 2);
        if (end == std::string::npos) {
            write_other();
            return;
        }
        auto name = expression_.substr(at_ + 2, end - at_ - 2);
        const bool is_negated = name.starts_with('^');
        name.erase(0, is_negated ? 1 : 0);
        if (name == "punct") {  // includes symbols, unlike \p{Punct}
            auto both = codes_as_text("p") + codes_as_text("s");
            write(both, is_negated);
            at_ = end + 2;
        } else {
            write_class(name, is_negated, end + 2);
        }
    }

    static std::string codes_as_text(const std::string& name) {
        const auto codes = codes_of_class(name);
        if (!codes) {
            throw Error{ErrorKind::deck, fmt::format("invalid character property name {{{}}}", name)};
        }
        std::string text;
        for (const auto& range : *codes) {
            text += range.first == range.last
                        ? fmt::format("\\x{{{:X}}}", range.first)
                        : fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", range.first, range.last);
        }
        return text;
    }

    void write_class(const std::string& name, bool is_negated, std::size_t end, const char* more = "") {
        write(codes_as_text(name) + more, is_negated);
        at_ = end;
    }

    // The engine folds the case of codes in brackets, but not of a property outside of brackets.
    void write(const std::string& codes, bool is_negated) {
        if (depth_ == 0) {
            made_ += fmt::format("(?-i:[{}{}])", is_negated ? "^" : "", codes);
        } else if (is_negated) {
            made_ += fmt::format("[^{}]", codes);
        } else {
            made_ += codes;
        }
    }

    void write_other() {
        const char c = expression_[at_];
        if (c == '[') {
            ++depth_;
            const bool is_negated = starts_with("[^");
            const auto first = at_ + (is_negated ? 2 : 1);
            const bool begins_with_bracket = first < expression_.size() && expression_[first] == ']';
            copy_to(first + (begins_with_bracket ? 1 : 0));
            return;
        }
        depth_ -= c == ']' && depth_ > 0 ? 1 : 0;
        copy_to(at_ + 1);
    }

    const std::string& expression_;
    std::string made_;
    std::size_t at_ = 0;
    int depth_ = 0;  ///< nesting depth of open brackets
};

}  // namespace

std::string with_unicode_classes(const std::string& expression) {
    return ClassExpander{expression}.run();
}

}  // namespace ziggurat::data
