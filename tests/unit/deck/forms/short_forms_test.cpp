// Each short form of the schema is read as its long form, in decks and on command lines.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "deck/compose/compose.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/reader.hpp"

namespace ziggurat::deck {
namespace {

/// A key with a value, and the same in another form.
struct Form {
    std::string path;
    std::string long_path;
    std::string value;
};

/// Returns values in deck syntax that the row accepts: its keywords, and scalars and lists of its type.
std::vector<std::string> values_of(const Row& row) {
    std::vector<std::string> values;
    for (const auto keyword : split_words(row.keywords)) {
        values.push_back(row.type == Type::keyword_list ? fmt::format("[{}]", keyword)
                                                        : std::string{keyword});
    }
    const auto number = std::isfinite(row.min) ? std::max(1.0, std::ceil(row.min)) : 1.0;
    switch (row.type) {
        case Type::text:
        case Type::path:
            values.emplace_back("some");
            break;
        case Type::texts:
            values.insert(values.end(), {"[some]", "[some, other]", "[]"});
            break;
        case Type::boolean:
            values.insert(values.end(), {"true", "false"});
            break;
        case Type::integer:
        case Type::real:
            values.push_back(fmt::format("{}", number));
            break;
        case Type::integers:
            values.insert(values.end(), {fmt::format("{}", number), fmt::format("[{0}, {0}]", number)});
            break;
        case Type::reals:
            values.push_back(fmt::format("[{0}, {0}]", number));
            break;
        case Type::real_by_step:
            values.insert(values.end(), {"0.5", "[[0, 0.5]]"});
            break;
        case Type::size:
        case Type::size_or_share:
            values.emplace_back("1GiB");
            break;
        case Type::share:
            values.emplace_back("5%");
            break;
        case Type::rate:
            values.emplace_back("1GB/s");
            break;
        case Type::duration:
            values.emplace_back("5min");
            break;
        case Type::training_length:
            values.emplace_back("5 steps");
            break;
        case Type::interval:
            values.insert(values.end(), {"5 steps", "[5 steps, 30min]"});
            break;
        case Type::home:
            values.insert(values.end(), {"host", "{device: 5%, host: rest}"});
            break;
        case Type::map:
        case Type::list:
        case Type::alias:
        case Type::variables:
        case Type::keyword:
        case Type::keyword_list:
            break;
    }
    return values;
}

std::vector<Form> forms_of(const Schema& schema) {
    std::vector<Form> forms;
    for (const Row& row : schema.rows()) {
        if (*row.shorthand == '\0') {
            continue;
        }
        const auto target =
            row.type == Type::alias ? row.shorthand : fmt::format("{}.{}", row.path, row.shorthand);
        for (const auto& value : values_of(*schema.find(target))) {
            forms.push_back({row.path, target, value});
        }
    }
    return forms;
}

/// Returns a deck with one key, as `a: {b: [{c: value}]}`.
std::string deck_of(const std::string& path, const std::string& value) {
    const auto dot = path.find('.');
    const auto key = path.substr(0, dot);
    const auto inner = dot == std::string::npos ? value : "{" + deck_of(path.substr(dot + 1), value) + "}";
    return key.ends_with("[]") ? fmt::format("{}: [{}]", key.substr(0, key.size() - 2), inner)
                               : fmt::format("{}: {}", key, inner);
}

/// Returns all values with their paths, or the errors.
std::string read(const std::string& text, const std::vector<std::string>& overrides) {
    Diagnostics found;
    auto root = compose(deck_schema(), text, "a deck", found);
    if (!root) {
        return found.print();
    }
    apply_overrides(deck_schema(), *root, overrides, found);
    const Values values = read_values(deck_schema(), *root, found);
    std::string all = found.ok() ? "" : found.print();
    for (const auto& path : values.paths()) {
        all += fmt::format("{}: {}\n", path, values.find(path)->written);
    }
    return all;
}

std::string at_first_element(std::string path) {
    const auto list = path.find("[]");
    return list == std::string::npos ? path : path.replace(list, 2, "[0]");
}

TEST(ShortForms, AreReadInDecksAsTheirLongForms) {
    const auto forms = forms_of(deck_schema());
    EXPECT_GT(forms.size(), 40U);
    for (const auto& form : forms) {
        const auto written = read(deck_of(form.path, form.value), {});
        EXPECT_EQ(written, read(deck_of(form.long_path, form.value), {})) << form.path << " = " << form.value;
        EXPECT_EQ(written.find("error:"), std::string::npos) << form.path << " = " << form.value << written;
    }
}

TEST(ShortForms, AreReadOnCommandLinesAsTheirLongForms) {
    for (const auto& form : forms_of(deck_schema())) {
        const auto given = read("deck_version: 1\nparallel: {pipeline: {each: [{layers: 1}]}}\n",
                                {at_first_element(form.path) + "=" + form.value});
        const auto other = read("deck_version: 1\nparallel: {pipeline: {each: [{layers: 1}]}}\n",
                                {at_first_element(form.long_path) + "=" + form.value});
        EXPECT_EQ(given, other) << form.path << " = " << form.value;
        EXPECT_EQ(given.find("error:"), std::string::npos) << form.path << " = " << form.value << given;
    }
}

TEST(ShortForms, OfKeywordsOfMapsSetEachKey) {
    for (const Row& row : deck_schema().rows()) {
        if (row.type != Type::map) {
            continue;
        }
        for (const auto keyword : split_words(row.keywords)) {
            const auto written = read(deck_of(row.path, std::string{keyword}), {});
            for (const Row* key : deck_schema().children(row.path)) {
                EXPECT_NE(written.find(fmt::format("{}: {}\n", key->path, keyword)), std::string::npos)
                    << row.path << ": " << keyword << "\n"
                    << written;
            }
        }
    }
}

}  // namespace
}  // namespace ziggurat::deck
