#include "data/unicode/unicode_classes.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "data/unicode/characters.hpp"
#include "data/unicode/unicode_data_impl.hpp"

namespace ziggurat::data {
namespace {

constexpr std::string_view letters = "lu ll lt lm lo";
constexpr std::string_view marks = "mn mc me";
constexpr std::string_view numbers = "nd nl no";
constexpr std::string_view punctuation = "pc pd ps pe pi pf po";
constexpr std::string_view symbols = "sm sc sk so";
constexpr std::string_view separators = "zs zl zp";
constexpr std::string_view others = "cc cf co cn";

/// A class that is a union of others.
struct Union {
    std::string_view name;
    std::string_view parts;  ///< names, separated by spaces
    bool is_inverted = false;
};

constexpr Union unions[] = {
    {"l", letters},
    {"letter", letters},
    {"lc", "lu ll lt"},
    {"casedletter", "lu ll lt"},
    {"uppercaseletter", "lu"},
    {"lowercaseletter", "ll"},
    {"titlecaseletter", "lt"},
    {"modifierletter", "lm"},
    {"otherletter", "lo"},
    {"m", marks},
    {"mark", marks},
    {"combiningmark", marks},
    {"nonspacingmark", "mn"},
    {"spacingmark", "mc"},
    {"enclosingmark", "me"},
    {"n", numbers},
    {"number", numbers},
    {"decimalnumber", "nd"},
    {"letternumber", "nl"},
    {"othernumber", "no"},
    {"p", punctuation},
    {"punctuation", punctuation},
    {"punct", punctuation},
    {"connectorpunctuation", "pc"},
    {"dashpunctuation", "pd"},
    {"openpunctuation", "ps"},
    {"closepunctuation", "pe"},
    {"initialpunctuation", "pi"},
    {"finalpunctuation", "pf"},
    {"otherpunctuation", "po"},
    {"s", symbols},
    {"symbol", symbols},
    {"mathsymbol", "sm"},
    {"currencysymbol", "sc"},
    {"modifiersymbol", "sk"},
    {"othersymbol", "so"},
    {"z", separators},
    {"separator", separators},
    {"spaceseparator", "zs"},
    {"lineseparator", "zl"},
    {"paragraphseparator", "zp"},
    {"c", others},
    {"other", others},
    {"control", "cc"},
    {"cntrl", "cc"},
    {"format", "cf"},
    {"privateuse", "co"},
    {"unassigned", "cn"},
    {"assigned", "cn", true},
    {"any", "", true},
    {"alpha", "alphabetic"},
    {"upper", "uppercase"},
    {"lower", "lowercase"},
    {"space", "whitespace"},
    {"digit", "nd"},
    {"alnum", "alphabetic nd"},
    {"word", "alphabetic mn mc me nd pc"},
    {"graph", "whitespace cc cn", true},
    {"print", "cc cn zl zp", true},
};

std::string normalized(std::string_view name) {
    std::string made;
    for (const char c : name) {
        if (c != ' ' && c != '_' && c != '-') {
            made += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
    }
    return made;
}

std::vector<CodeRange> merged(std::vector<CodeRange> ranges) {
    std::ranges::sort(ranges, {}, &CodeRange::first);
    std::vector<CodeRange> made;
    for (const auto& range : ranges) {
        if (!made.empty() && range.first <= made.back().last + 1) {
            made.back().last = std::max(made.back().last, range.last);
        } else {
            made.push_back(range);
        }
    }
    return made;
}

std::vector<CodeRange> inverted(const std::vector<CodeRange>& ranges) {
    std::vector<CodeRange> made;
    std::uint32_t next = 0;
    for (const auto& range : ranges) {
        if (range.first > next) {
            made.push_back({next, range.first - 1});
        }
        next = range.last + 1;
    }
    if (next <= max_code) {
        made.push_back({next, max_code});
    }
    return made;
}

}  // namespace

std::optional<std::vector<CodeRange>> codes_of_class(std::string_view name) {
    const std::string plain = normalized(name);
    if (const auto* const known = std::ranges::find(unicode_classes, plain, &UnicodeClass::name);
        known != std::end(unicode_classes)) {
        const auto ranges = std::span{unicode_ranges}.subspan(known->first_range, known->num_ranges);
        return std::vector<CodeRange>{ranges.begin(), ranges.end()};
    }
    const auto* const made_of = std::ranges::find(unions, plain, &Union::name);
    if (made_of == std::end(unions)) {
        if (plain == "ascii") {
            return std::vector<CodeRange>{{0, 0x7F}};
        }
        if (plain == "xdigit") {
            return std::vector<CodeRange>{{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
        }
        if (plain == "blank") {
            auto ranges = *codes_of_class("zs");
            ranges.push_back({'\t', '\t'});
            return merged(std::move(ranges));
        }
        return std::nullopt;
    }
    std::vector<CodeRange> all;
    for (std::size_t begin = 0; begin < made_of->parts.size();) {
        const auto end = std::min(made_of->parts.find(' ', begin), made_of->parts.size());
        const auto part = *codes_of_class(made_of->parts.substr(begin, end - begin));
        all.insert(all.end(), part.begin(), part.end());
        begin = end + 1;
    }
    all = merged(std::move(all));
    return made_of->is_inverted ? inverted(all) : all;
}

}  // namespace ziggurat::data
