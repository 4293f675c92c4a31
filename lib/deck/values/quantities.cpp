#include "deck/values/quantities.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>

namespace ziggurat::deck {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr std::array size_units = {
    Unit{"B", 1},        Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30},
    Unit{"TiB", 0x1p40}, Unit{"PiB", 0x1p50}, Unit{"kB", 1e3},     Unit{"KB", 1e3},
    Unit{"MB", 1e6},     Unit{"GB", 1e9},     Unit{"TB", 1e12},    Unit{"PB", 1e15},
};
constexpr std::array time_units = {
    Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1},
    Unit{"min", 60},  Unit{"m", 60},    Unit{"h", 3600},  Unit{"d", 86400},
};
constexpr std::array count_units = {Unit{"k", 1e3}, Unit{"M", 1e6}, Unit{"G", 1e9}, Unit{"B", 1e9},
                                    Unit{"T", 1e12}};

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
        text.remove_suffix(1);
    }
    return text;
}

/// Parses the decimal number at the beginning of `text` and removes it from the text.
///
/// Accepts no sign, and an exponent only if `takes_exponent`.
std::optional<double> take_number(std::string_view& text, bool takes_exponent = false) {
    double value = 0;
    const auto format = takes_exponent ? std::chars_format::general : std::chars_format::fixed;
    const auto is_digit = [&](std::size_t at) {
        return text.size() > at && text[at] >= '0' && text[at] <= '9';
    };
    if (!is_digit(0) && !(is_digit(1) && text.front() == '.')) {
        return std::nullopt;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format);
    if (error != std::errc{} || !std::isfinite(value)) {
        return std::nullopt;
    }
    text.remove_prefix(end - text.data());
    return value;
}

template <std::size_t N>
std::optional<double> factor_of(std::string_view name, const std::array<Unit, N>& units) {
    for (const Unit& unit : units) {
        if (unit.name == name) {
            return unit.factor;
        }
    }
    return std::nullopt;
}

/// Above any quantity of a run, and within the range of int64.
constexpr double max = 0x1p62;

/// Returns `value` as an integer if it is whole and in range.
std::optional<std::int64_t> whole(double value) {
    if (!(value >= 0 && value <= max) || value != std::floor(value)) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(value);
}

}  // namespace

std::optional<double> read_real(std::string_view text) {
    text = trimmed(text);
    const bool is_negative = !text.empty() && text.front() == '-';
    if (is_negative) {
        text.remove_prefix(1);
    }
    const auto value = take_number(text, true);
    if (!value || !text.empty()) {
        return std::nullopt;
    }
    return is_negative ? -*value : *value;
}

std::string write_real(double value) {
    std::string text = fmt::format("{}", value);
    const std::size_t exponent = text.find('e');
    if (exponent != std::string::npos && text.find('.') == std::string::npos) {
        text.insert(exponent, ".0");  // YAML 1.1 parses 1e-08 as a string
    }
    return text;
}

std::optional<std::int64_t> read_integer(std::string_view text, std::string_view noun) {
    text = trimmed(text);
    if (!noun.empty() && text.ends_with(noun)) {
        text = trimmed(text.substr(0, text.size() - noun.size()));
    }
    std::int64_t exact = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
    if (error == std::errc{} && end == text.data() + text.size()) {
        return exact;
    }
    const auto value = take_number(text, true);
    if (!value) {
        return std::nullopt;
    }
    const auto factor = text.empty() ? std::optional{1.0} : factor_of(text, count_units);
    if (factor && *value * *factor > max) {
        return static_cast<std::int64_t>(max);  // above the range of every key, which is reported later
    }
    return factor ? whole(*value * *factor) : std::nullopt;
}

std::optional<std::int64_t> read_bytes(std::string_view text) {
    text = trimmed(text);
    const std::string_view all = text;
    std::int64_t exact = 0;
    const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), exact);
    if (error == std::errc{} && exact >= 0 && std::string_view{end, all.data() + all.size()} == "B") {
        return exact;
    }
    const auto value = take_number(text);
    const auto factor = factor_of(trimmed(text), size_units);
    return value && factor ? whole(std::round(*value * *factor)) : std::nullopt;
}

std::string write_bytes(std::int64_t bytes) {
    constexpr std::array binary = {Unit{"TiB", 0x1p40}, Unit{"GiB", 0x1p30}, Unit{"MiB", 0x1p20},
                                   Unit{"KiB", 0x1p10}};
    for (const Unit& unit : binary) {
        const auto factor = static_cast<std::int64_t>(unit.factor);
        if (bytes != 0 && bytes % factor == 0) {
            return fmt::format("{}{}", bytes / factor, unit.name);
        }
    }
    return fmt::format("{}B", bytes);
}

std::optional<double> read_rate(std::string_view text) {
    text = trimmed(text);
    if (!text.ends_with("/s")) {
        return std::nullopt;
    }
    const auto bytes = read_bytes(text.substr(0, text.size() - 2));
    return bytes && *bytes > 0 ? std::optional{static_cast<double>(*bytes)} : std::nullopt;
}

std::string write_rate(double bytes_per_second) {
    constexpr std::array decimal = {Unit{"TB", 1e12}, Unit{"GB", 1e9}, Unit{"MB", 1e6}, Unit{"kB", 1e3}};
    const auto bytes = static_cast<std::int64_t>(std::round(bytes_per_second));
    for (const Unit& unit : decimal) {
        const auto factor = static_cast<std::int64_t>(unit.factor);
        if (bytes != 0 && bytes % factor == 0) {
            return fmt::format("{}{}/s", bytes / factor, unit.name);
        }
    }
    return fmt::format("{}B/s", bytes);
}

std::optional<double> read_share(std::string_view text) {
    text = trimmed(text);
    const auto percent = take_number(text);
    if (!percent || trimmed(text) != "%" || *percent > 100) {
        return std::nullopt;
    }
    return *percent / 100;
}

std::string write_share(double share) {
    return write_real(share * 100) + "%";
}

std::optional<double> read_duration(std::string_view text) {
    text = trimmed(text);
    double seconds = 0;
    double last_factor = HUGE_VAL;
    while (!text.empty()) {
        const auto value = take_number(text);
        const std::size_t letters = text.find_first_of("0123456789");
        const auto factor = factor_of(trimmed(text.substr(0, letters)), time_units);
        if (!value || !factor || *factor >= last_factor) {
            return std::nullopt;
        }
        seconds += *value * *factor;
        last_factor = *factor;
        text = letters == std::string_view::npos ? std::string_view{} : text.substr(letters);
    }
    return std::isfinite(last_factor) && std::isfinite(seconds) ? std::optional{seconds} : std::nullopt;
}

std::string write_duration(double seconds) {
    for (const Unit& unit : {Unit{"d", 86400}, Unit{"h", 3600}, Unit{"min", 60}}) {
        if (seconds >= unit.factor && std::fmod(seconds, unit.factor) == 0) {
            return fmt::format("{:.0f}{}", seconds / unit.factor, unit.name);
        }
    }
    const std::string shortest = fmt::format("{}", seconds);
    // Durations have no exponent; fractions of a nanosecond are dropped.
    return (shortest.find('e') == std::string::npos ? shortest : fmt::format("{:.9f}", seconds)) + "s";
}

std::optional<TrainingLength> read_training_length(std::string_view text) {
    text = trimmed(text);
    if (const auto share = read_share(text)) {
        return TrainingLength{.share = *share, .unit = TrainingLength::Unit::share};
    }
    if (text.ends_with("tokens")) {
        const auto tokens = read_integer(text, "tokens");
        return tokens && *tokens >= 0
                   ? std::optional{TrainingLength{.tokens = *tokens, .unit = TrainingLength::Unit::tokens}}
                   : std::nullopt;
    }
    if (text.ends_with("steps") || text.ends_with("step")) {
        const auto steps = read_integer(text, text.ends_with("s") ? "steps" : "step");
        return steps && *steps >= 0 ? std::optional{TrainingLength{.steps = *steps}} : std::nullopt;
    }
    return std::nullopt;
}

bool read_interval_part(std::string_view text, spec::Interval& into) {
    if (const auto seconds = read_duration(text)) {
        const bool is_first = into.seconds == 0;
        into.seconds = *seconds;
        return is_first && *seconds > 0 && *seconds < longest_interval_seconds;
    }
    const auto length = read_training_length(text);
    if (!length || length->unit == TrainingLength::Unit::share) {
        return false;
    }
    std::int64_t& count = length->unit == TrainingLength::Unit::steps ? into.steps : into.tokens;
    const bool is_first = count == 0;
    count = length->unit == TrainingLength::Unit::steps ? length->steps : length->tokens;
    return is_first && count > 0;
}

std::string write_interval(const spec::Interval& interval) {
    std::vector<std::string> parts;
    if (interval.steps > 0) {
        parts.push_back(fmt::format("{} steps", interval.steps));
    }
    if (interval.tokens > 0) {
        parts.push_back(fmt::format("{} tokens", interval.tokens));
    }
    if (interval.seconds > 0) {
        parts.push_back(write_duration(interval.seconds));
    }
    return parts.size() == 1 ? parts[0] : fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string write_quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte == 0x7f) {
            out += fmt::format("\\x{:02x}", byte);
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string escape_variables(std::string_view text) {
    std::string escaped;
    for (std::size_t i = 0; i < text.size(); ++i) {
        escaped += text.substr(i).starts_with("${") ? "$" : "";
        escaped += text[i];
    }
    return escaped;
}

std::string write_text(std::string_view text) {
    return write_quoted(escape_variables(text));
}

std::string write_list(const std::vector<std::string>& written) {
    return fmt::format("[{}]", fmt::join(written, ", "));
}

}  // namespace ziggurat::deck
