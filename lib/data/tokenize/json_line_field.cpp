#include "data/tokenize/json_line_field.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"

namespace ziggurat::data {
namespace {

using Json = nlohmann::json;

/// Keeps one field of the outermost object, and stores nothing else of it.
class FieldReader final : public nlohmann::json_sax<Json> {
  public:
    explicit FieldReader(const std::string& field) : field_{field} {}

    std::optional<std::string> text;
    std::string problem;

    bool null() override { return other(); }
    bool boolean(bool) override { return other(); }
    bool number_integer(number_integer_t) override { return other(); }
    bool number_unsigned(number_unsigned_t) override { return other(); }
    bool number_float(number_float_t, const string_t&) override { return other(); }
    bool binary(binary_t&) override { return other(); }
    bool string(string_t& value) override {
        if (std::exchange(is_next_, false)) {
            text = std::move(value);
        }
        return true;
    }
    bool start_object(std::size_t) override { return open(); }
    bool start_array(std::size_t) override { return open(); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        is_next_ = depth_ == 1 && name == field_;
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
        problem = error.what();
        return false;
    }

  private:
    bool other() {
        if (std::exchange(is_next_, false)) {
            text.reset();
        }
        return true;
    }
    bool open() {
        ++depth_;
        return other();
    }
    bool close() {
        --depth_;
        return true;
    }

    const std::string& field_;
    int depth_ = 0;
    bool is_next_ = false;
};

}  // namespace

std::string json_line_field(std::string_view line, const std::string& field) {
    constexpr int reported_columns = 120;
    FieldReader reader{field};
    if (!Json::sax_parse(line.begin(), line.end(), &reader)) {
        if (reader.problem.find(": surrogate U+D") != std::string::npos) {
            throw Error{
                ErrorKind::deck,
                "a lone surrogate (half of a character that \\u escapes write in two parts), which no "
                "text in UTF-8 can hold. Remove it or write U+FFFD, or use --skip-bad-lines."};
        }
        throw Error{ErrorKind::deck, fmt::format("not JSON ({}). Write one object on each line.",
                                                 shortened(printable(reader.problem), reported_columns))};
    }
    if (!reader.text) {
        throw Error{ErrorKind::deck, fmt::format("not an object with a text '{}'. Name the text's field "
                                                 "with --field.",
                                                 printable(field))};
    }
    return std::move(*reader.text);
}

}  // namespace ziggurat::data
