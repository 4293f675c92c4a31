#include "deck/values/unit_guess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "deck/messages/nearest.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::deck {
namespace {

/// Alternative spellings of a deck's `unit`, in lower case and separated by spaces.
struct Spellings {
    const char* unit;
    const char* others;
};

constexpr std::array sizes = {
    Spellings{"B", "b byte bytes"},       Spellings{"kB", "k kb kilobyte kilobytes"},
    Spellings{"KiB", "ki kib kibibytes"}, Spellings{"MB", "m mb megabyte megabytes"},
    Spellings{"MiB", "mi mib mebibytes"}, Spellings{"GB", "g gb gigabyte gigabytes"},
    Spellings{"GiB", "gi gib gibibytes"}, Spellings{"TB", "t tb terabyte terabytes"},
    Spellings{"TiB", "ti tib tebibytes"}, Spellings{"PB", "p pb petabyte petabytes"},
    Spellings{"PiB", "pi pib pebibytes"},
};
constexpr std::array durations = {
    Spellings{"ms", "ms msec millisecond milliseconds"},
    Spellings{"s", "s sec secs second seconds"},
    Spellings{"min", "min mins minute minutes"},
    Spellings{"h", "h hr hrs hour hours"},
    Spellings{"d", "d day days"},
};
constexpr std::array counts = {
    Spellings{"k", "k thousand"},
    Spellings{"M", "m mio million millions"},
    Spellings{"G", "g b bn billion billions"},
    Spellings{"T", "t trillion trillions"},
};
constexpr std::array lengths = {
    Spellings{" steps", "step steps iter iters iteration iterations it"},
    Spellings{" tokens", "tok toks token tokens"},
};
constexpr std::array percents = {Spellings{"%", "percent pct"}};

/// Returns the unit with the spelling `name`; empty if unknown.
std::string unit_of(std::string_view name, std::span<const Spellings> units) {
    const auto small = in_small_letters(name);
    for (const auto& unit : units) {
        const auto others = split_words(unit.others);
        if (std::find(others.begin(), others.end(), small) != others.end()) {
            return unit.unit;
        }
    }
    return {};
}

/// Returns the unit of a rate without `/s` or another word for it.
std::string_view without_second(std::string_view name) {
    const auto small = in_small_letters(name);
    for (const std::string_view suffix : {"/s", "/sec", "/second", "ps"}) {
        if (small.ends_with(suffix)) {
            return name.substr(0, name.size() - suffix.size());
        }
    }
    return name;
}

std::string rate_of(std::string_view name) {
    const auto unit = unit_of(without_second(name), sizes);
    return unit.empty() ? unit : unit + "/s";
}

/// Returns the unit of bytes for a unit of bits; empty if `name` is not one.
///
/// \param is_per_second  it was followed by `ps`, as units of bits are
std::string unit_of_bits(std::string_view name, bool is_per_second) {
    const auto small = in_small_letters(name);
    for (const std::string_view suffix : {"bits", "bit"}) {
        if (small.ends_with(suffix)) {
            return unit_of(std::string{name.substr(0, name.size() - suffix.size())} + "b", sizes);
        }
    }
    const bool has_capital = !name.empty() && name.front() >= 'A' && name.front() <= 'Z';
    return name.size() > 1 && name.ends_with('b') && (is_per_second || has_capital) ? unit_of(name, sizes)
                                                                                    : "";
}

/// A number and the unit after it; both empty without a number.
struct NumberAndUnit {
    std::string_view number, unit;
};

NumberAndUnit split_unit(std::string_view text) {
    const auto end = text.find_first_not_of("0123456789.");
    const auto begin = end == std::string_view::npos ? end : text.find_first_not_of(' ', end);
    if (end == 0 || begin == std::string_view::npos || !read_real(text.substr(0, end))) {
        return {};
    }
    return {text.substr(0, end), text.substr(begin, text.find_last_not_of(' ') + 1 - begin)};
}

/// Returns suffix and noun for `200m tokens`, `20K iterations` or `5K`.
std::string count_of(std::string_view name, std::span<const Spellings> counted) {
    const auto cut = name.find(' ');
    const auto noun = unit_of(cut == std::string_view::npos ? name : name.substr(cut + 1), counted);
    if (!noun.empty() && cut == std::string_view::npos) {
        return noun;
    }
    const auto count = unit_of(name.substr(0, cut), counts);
    return count.empty() || noun.empty() ? std::string{} : count + noun;
}

std::string unit_for(Type type, std::string_view noun, std::string_view name) {
    const auto first_of = [](std::string a, const std::string& b) { return a.empty() ? b : a; };
    switch (type) {
        case Type::size:
            return unit_of(name, sizes);
        case Type::size_or_share:
            return first_of(unit_of(name, sizes), unit_of(name, percents));
        case Type::share:
            return unit_of(name, percents);
        case Type::rate:
            return rate_of(name);
        case Type::duration:
            return unit_of(name, durations);
        case Type::training_length:
            return first_of(count_of(name, lengths), unit_of(name, percents));
        case Type::interval:
            return first_of(count_of(name, lengths), unit_of(name, durations));
        case Type::integer: {
            const auto cut = name.find(' ');
            const bool has_noun = cut != std::string_view::npos && name.substr(cut + 1) == noun;
            return has_noun || cut == std::string_view::npos ? unit_of(name.substr(0, cut), counts) : "";
        }
        case Type::map:
        case Type::list:
        case Type::alias:
        case Type::variables:
        case Type::text:
        case Type::path:
        case Type::boolean:
        case Type::keyword:
        case Type::real:
        case Type::real_by_step:
        case Type::home:
        case Type::texts:
        case Type::reals:
        case Type::integers:
        case Type::keyword_list:
            break;  // without units
    }
    return {};
}

}  // namespace

std::string guess_unit(Type type, std::string_view noun, std::string_view text) {
    const auto given = split_unit(text);
    if (given.number.empty()) {
        return {};
    }
    const auto unit = unit_for(type, noun, given.unit);
    return unit.empty() ? std::string{} : fmt::format("{}{}", given.number, unit);
}

std::string bits_in_bytes(Type type, std::string_view text) {
    const bool is_rate = type == Type::rate;
    const auto given = split_unit(text);
    if (given.number.empty() || (!is_rate && type != Type::size && type != Type::size_or_share)) {
        return {};
    }
    const auto unit =
        unit_of_bits(is_rate ? without_second(given.unit) : given.unit, given.unit.ends_with("bps"));
    constexpr double bits_of_a_byte = 8;
    return unit.empty() ? std::string{}
                        : fmt::format("{}{}{}", read_real(given.number).value() / bits_of_a_byte, unit,
                                      is_rate ? "/s" : "");
}

}  // namespace ziggurat::deck
