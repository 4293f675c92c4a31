#include <fmt/format.h>

#include <algorithm>

#include "deck/schema/schema.hpp"

namespace ziggurat::deck {
namespace {

/// Joins alternatives: `512MiB or auto`.
std::string join_or(const std::vector<std::string_view>& keywords) {
    std::string text;
    for (std::size_t i = 0; i < keywords.size(); ++i) {
        text += i == 0 ? "" : i + 1 == keywords.size() ? " or " : ", ";
        text += keywords[i];
    }
    return text;
}

std::string counted_form(const Row& row) {
    const std::string_view noun = row.noun;
    return noun.empty() ? "a whole number" : fmt::format("a whole number of {}, such as 500 or 20k", noun);
}

std::string form_of(const Row& row) {
    switch (row.type) {
        case Type::map:
            return std::string_view{row.shorthand}.empty()
                       ? "a map of keys"
                       : fmt::format("a map of keys, or the value of its key '{}' alone", row.shorthand);
        case Type::list:
            return "a list of maps";
        case Type::variables:
            return "a map of names and texts";
        case Type::alias:
            return fmt::format("as {}", row.shorthand);
        case Type::text:
            return "a text";
        case Type::path:
            return "a path";
        case Type::boolean:
            return "true or false";
        case Type::keyword:
        case Type::home:
            return row.type == Type::home
                       ? "device, host, nvme, or shares such as {device: 5%, host: 55%, nvme: rest}"
                       : "one of";
        case Type::integer:
            return counted_form(row);
        case Type::real:
            return "a number, such as 0.1 or 3.0e-4";
        case Type::real_by_step:
            return "a number, such as 0.1 or 3.0e-4, or pairs of step and number, such as [[0, 0.7], [10k, "
                   "0.2]]";
        case Type::size:
            return "a size with its unit, such as 512MiB, 2TiB or 80GB";
        case Type::size_or_share:
            return "a size with its unit, such as 512MiB, 2TiB or 80GB, or a share such as 94%";
        case Type::share:
            return "a share in percent, such as 5%";
        case Type::rate:
            return "bytes per second with their unit, such as 400MB/s or 2GiB/s";
        case Type::duration:
            return "a duration with its unit, such as 30s, 10min, 23h50m or 2d";
        case Type::training_length:
            return "a length with its unit, such as 100 steps, 200M tokens or 10%";
        case Type::interval:
            return "an interval with its unit, such as 100 steps, 200M tokens or 30min, or a list of them";
        case Type::texts:
            return "a list of texts, such as [first, second]";
        case Type::reals:
            return fmt::format("a list of {}numbers from {} to {}", row.items == 2 ? "two " : "", row.min,
                               row.max);
        case Type::integers:
            return fmt::format("a whole number from {} to {}, or a list of them", row.min, row.max);
        case Type::keyword_list:
            return "a list of";
    }
    return {};
}

}  // namespace

std::string_view leaf_of(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string without_indices(std::string_view path) {
    std::string bare;
    bool inside = false;
    for (const char c : path) {
        inside = inside && c != ']';
        if (!inside) {
            bare += c;
        }
        inside = inside || c == '[';
    }
    return bare;
}

std::vector<std::string_view> split_words(std::string_view keywords) {
    std::vector<std::string_view> parts;
    while (!keywords.empty()) {
        const std::size_t end = keywords.find(' ');
        parts.push_back(keywords.substr(0, end));
        keywords = end == std::string_view::npos ? std::string_view{} : keywords.substr(end + 1);
    }
    return parts;
}

bool keeps_secrets(const Row& row) {
    return row.type == Type::path || row.is_name_or_place;
}

std::string reason_of(const Row& row) {
    std::string doc = row.doc;
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    for (std::size_t i = 2; i < doc.size(); ++i) {
        if (doc[i - 2] == '.' && doc[i - 1] == ' ' && is_capital(doc[i])) {
            doc.resize(i - 1);
        }
    }
    if (doc.ends_with('.')) {
        doc.pop_back();
    }
    const auto first = doc.substr(0, doc.find(' '));  // AdamW and NVMe keep their capitals
    const bool is_keyword = first.size() > 1 && std::none_of(first.begin() + 1, first.end(), is_capital);
    if ((is_keyword || first == "A") && is_capital(doc[0])) {
        doc[0] = static_cast<char>(doc[0] - 'A' + 'a');
    }
    return doc;
}

const char* noun_of(const Row& row) {
    switch (row.type) {
        case Type::map:
        case Type::variables:
            return "a map";
        case Type::list:
            return "a list of maps";
        case Type::alias:
        case Type::real:
            return "a number";
        case Type::real_by_step:
            return "a number or a list of steps with numbers";
        case Type::text:
            return "a text";
        case Type::path:
            return "a path";
        case Type::boolean:
            return "true or false";
        case Type::keyword:
            return "a choice";
        case Type::integer:
            return "a whole number";
        case Type::size:
            return "a size";
        case Type::size_or_share:
            return "a size or a share";
        case Type::share:
            return "a share";
        case Type::rate:
            return "a rate";
        case Type::duration:
            return "a duration";
        case Type::training_length:
            return "a length of training";
        case Type::interval:
            return "an interval";
        case Type::home:
            return "a home";
        case Type::texts:
            return "a list of texts";
        case Type::reals:
            return row.items == 2 ? "a list of two such numbers" : "a list of such numbers";
        case Type::integers:
            return "a list of whole numbers";
        case Type::keyword_list:
            return "a list of choices";
    }
    return "";
}

std::string accepted_forms(const Row& row) {
    const std::string form = form_of(row);
    const auto keywords = split_words(row.keywords);
    if (keywords.empty()) {
        return form;
    }
    if (row.type == Type::keyword) {
        return keywords.size() == 1 ? std::string{keywords[0]} : form + " " + join_or(keywords);
    }
    return form + (row.type == Type::keyword_list ? " " : ", or ") + join_or(keywords);
}

const Row* Schema::find(std::string_view path) const {
    const std::string bare = without_indices(path);
    for (const Row& row : rows_) {
        if (bare == row.path) {
            return &row;
        }
    }
    return nullptr;
}

std::vector<const Row*> Schema::children(std::string_view path) const {
    const std::string bare = without_indices(path);
    const std::string prefix = bare.empty() ? "" : bare + ".";
    std::vector<const Row*> found;
    for (const Row& row : rows_) {
        const std::string_view candidate = row.path;
        if (candidate.starts_with(prefix) && candidate.find('.', prefix.size()) == std::string_view::npos) {
            found.push_back(&row);
        }
    }
    return found;
}

}  // namespace ziggurat::deck
