#include "deck/values/value_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "deck/messages/nearest.hpp"
#include "deck/messages/peer_names.hpp"
#include "deck/values/by_step.hpp"
#include "deck/values/quantities.hpp"
#include "deck/values/unit_guess.hpp"

namespace ziggurat::deck {
namespace {

bool needs_unit(Type type) {
    return type == Type::size || type == Type::size_or_share || type == Type::share || type == Type::rate ||
           type == Type::duration || type == Type::training_length || type == Type::interval;
}

bool takes_share(Type type) {
    return type == Type::size_or_share || type == Type::share || type == Type::training_length;
}

/// Returns a bound in deck syntax.
std::string bound(const Row& row, double value) {
    if (row.type == Type::size) {
        return write_bytes(static_cast<std::int64_t>(value));
    }
    if (row.type == Type::share) {
        return write_share(value);
    }
    if (row.type == Type::duration) {
        constexpr double day = 86400;
        return value < day ? write_duration(value) : fmt::format("{:.0f}d", std::floor(value / day));
    }
    const bool is_whole = value == std::floor(value) && std::abs(value) < 1e15;
    return is_whole ? fmt::format("{}", static_cast<std::int64_t>(value)) : write_real(value);
}

std::string range_of(const Row& row) {
    if (row.min == row.max) {
        return fmt::format("Use {}.", bound(row, row.min));
    }
    if (std::isfinite(row.max) && std::isfinite(row.min)) {
        return fmt::format("Use a value between {} and {}.", bound(row, row.min), bound(row, row.max));
    }
    return fmt::format("Use a value of at least {}.", bound(row, row.min));
}

/// A number and any unit.
struct Quantity {
    double amount = 0;
    std::string unit;
};

std::optional<Quantity> quantity_of(const std::string& text) {
    const auto end = text.find_first_not_of("-.0123456789");
    const auto begin = end == std::string::npos ? end : text.find_first_not_of(' ', end);
    const auto amount = read_real(text.substr(0, end));
    return amount && begin != std::string::npos ? std::optional{Quantity{*amount, text.substr(begin)}}
                                                : std::nullopt;
}

bool is_percent(const std::string& text) {
    const auto quantity = quantity_of(text);
    return quantity && quantity->unit == "%";
}

/// Returns advice on a quantity with a valid unit but impossible value, such as 105% or 0 steps.
///
/// Empty for other texts.
std::string range_beside(const Row& row, const std::string& text) {
    const auto quantity = quantity_of(text);
    if (!quantity) {
        return {};
    }
    if (quantity->unit == "%" && takes_share(row.type)) {
        return row.type == Type::share && std::isfinite(row.max) ? range_of(row)
                                                                 : "Use a share between 0% and 100%.";
    }
    const bool is_interval = row.type == Type::interval;
    if (is_interval && read_duration(text).value_or(0) >= longest_interval_seconds) {
        return fmt::format("Use at most {:.0f}d.", std::floor(longest_interval_seconds / 86400));
    }
    if (quantity->amount > 0 || !(is_interval || row.type == Type::training_length)) {
        return {};
    }
    if (quantity->unit == "steps" || quantity->unit == "step" || quantity->unit == "tokens") {
        const std::string_view noun = quantity->unit == "tokens" ? "tokens" : "steps";
        return is_interval ? fmt::format("Use at least 1 {}.", noun.substr(0, noun.size() - 1))
                           : fmt::format("Use at least 0 {}.", noun);
    }
    return is_interval && read_duration("1" + quantity->unit) ? "Use a duration above 0s." : "";
}

/// Returns the problem with shares over tiers; empty if there is another problem.
std::string no_home_reason(const Node& node) {
    double sum = 0;
    int rests = 0;
    for (const MapEntry& entry : node.entries) {
        if (entry.key != "device" && entry.key != "host" && entry.key != "nvme") {
            return fmt::format("{} is not a tier", in_quotes(entry.key));
        }
        const auto share = read_share(entry.value.text);
        rests += entry.value.text == "rest" ? 1 : 0;
        if (!share && entry.value.text != "rest") {
            return fmt::format("{} = {} is not {}", entry.key, in_quotes(entry.value.text),
                               is_percent(entry.value.text) ? "between 0% and 100%" : "a share such as 50%");
        }
        sum += share.value_or(0);
    }
    // Rounded so that the message has exact decimal sums: 70% and 60% are 130%.
    const double percent = std::round(sum * 1e8) / 1e6;
    return rests > 1 || node.entries.empty() ? "one tier gets the rest"
           : std::abs(sum - 1) > 1e-9        ? fmt::format("its shares add up to {}%", write_real(percent))
                                             : "";
}

/// Returns the reason why a list of valid intervals is invalid; empty if there is another problem.
std::string no_interval_reason(const Node& node) {
    spec::Interval interval{.steps = 0};
    for (const Node& item : node.items) {
        spec::Interval alone{.steps = 0};
        if (item.kind != NodeKind::scalar || !read_interval_part(item.text, alone)) {
            return fmt::format("{} is not one", in_quotes(item.text));
        }
        if (!read_interval_part(item.text, interval)) {
            return fmt::format("{} repeats a unit: only the shorter interval would take effect",
                               in_quotes(item.text));
        }
    }
    return node.kind == NodeKind::list && node.items.empty() ? "the list is empty" : "";
}

/// Returns `node` for display, with variables instead of secrets of the environment.
Node shown(Node node) {
    node.text = node.without_secrets.empty() ? node.text : node.without_secrets;
    for (Node& item : node.items) {
        item = shown(std::move(item));
    }
    for (MapEntry& entry : node.entries) {
        entry.value = shown(std::move(entry.value));
    }
    return node;
}

/// Returns the most likely intended value; empty without a guess.
std::string meant_by(const Row& row, const Node& node) {
    if (node.kind != NodeKind::scalar) {
        return {};
    }
    if (row.type == Type::texts || row.type == Type::keyword_list) {
        return node.text.empty() ? "" : "[" + node.text + "]";
    }
    if (row.type == Type::path && is_below_home(node.text)) {
        return "${env:HOME}" + node.text.substr(1);
    }
    auto keywords = split_words(row.keywords);
    if (row.type == Type::boolean) {
        keywords.insert(keywords.end(), {"true", "false"});
    }
    if (row.type == Type::home) {
        keywords.insert(keywords.end(), {"device", "host", "nvme"});
    }
    for (const auto ours : find_peer_values(node.text)) {
        if (std::ranges::find(keywords, ours) != keywords.end()) {
            return std::string{ours};
        }
    }
    const auto keyword = nearest(node.text, keywords);
    return keyword.empty() ? guess_unit(row.type, row.noun, node.text) : keyword;
}

}  // namespace

bool has_nul(const Node& node) {
    return node.text.find('\0') != std::string::npos || std::ranges::any_of(node.items, has_nul) ||
           std::ranges::any_of(node.entries, [](const MapEntry& entry) { return has_nul(entry.value); });
}

void refuse_nul(const std::string& path, const Node& node, Diagnostics& found) {
    found.error(node.at, fmt::format("{} has the character NUL", path),
                "names of files end there, and so do texts", "Remove it.");
}

bool is_bare_boolean(const Row& row, const std::string& path, const Node& node) {
    constexpr std::array booleans{"true", "false", "yes", "no", "on", "off"};
    const bool is_whole_override =
        node.at.file == command_line_name && node.at.column == static_cast<int>(path.size()) + 2;
    return row.type == Type::path && node.kind == NodeKind::scalar && !node.is_quoted && !is_whole_override &&
           std::ranges::find(booleans, in_small_letters(node.text)) != booleans.end();
}

bool is_below_home(std::string_view path) {
    return path == "~" || path.starts_with("~/");
}

std::string written_as(const Row& row, const Node& node, bool is_keyword) {
    if (node.kind == NodeKind::scalar) {
        const bool is_text = row.type == Type::text || row.type == Type::path || row.type == Type::texts;
        return is_text && !is_keyword ? write_text(node.text) : node.text;
    }
    std::string text;
    for (const Node& item : node.items) {
        const bool is_nested = item.kind == NodeKind::list || item.kind == NodeKind::map;
        text += (text.empty() ? "" : ", ") + (is_nested                 ? written_as(row, item, false)
                                              : row.type == Type::texts ? write_text(item.text)
                                                                        : item.text);
    }
    for (const MapEntry& entry : node.entries) {
        text += (text.empty() ? "" : ", ") + entry.key + ": " + entry.value.text;
    }
    return node.kind == NodeKind::list ? "[" + text + "]" : "{" + text + "}";
}

std::string written_without_secrets(const Row& row, const Node& node, bool is_keyword) {
    const auto has_secrets = [](const Node& part) { return !part.without_secrets.empty(); };
    if (!keeps_secrets(row) || is_keyword ||
        !(has_secrets(node) || std::ranges::any_of(node.items, has_secrets))) {
        return {};
    }
    const auto write = [&](const Node& part) {
        return has_secrets(part) ? write_quoted(part.without_secrets) : write_text(part.text);
    };
    if (node.kind == NodeKind::scalar) {
        return write(node);
    }
    std::string text;
    for (const Node& item : node.items) {
        text += (text.empty() ? "" : ", ") + write(item);
    }
    return "[" + text + "]";
}

void refuse_range(const Row& row, const std::string& path, const Node& node, Diagnostics& found) {
    found.error(node.at, fmt::format("{} = {} is out of range", path, in_quotes(shown(node).text)),
                reason_of(row), range_of(row));
}

void refuse_form(const Row& row, const std::string& path, const Node& given, Diagnostics& found) {
    const Node node = shown(given);
    const bool is_scalar = node.kind == NodeKind::scalar;
    const std::string written = in_quotes(is_scalar ? node.text : written_as(row, node, false));
    if (const auto range = is_scalar ? range_beside(row, node.text) : ""; !range.empty()) {
        found.error(node.at, fmt::format("{} = {} is out of range", path, written), reason_of(row), range);
        return;
    }
    if (row.type == Type::real_by_step && node.kind == NodeKind::list) {
        auto [at, reason] = find_by_step_error(row, node);
        found.error(at, fmt::format("{} = {} is not {}", path, written, noun_of(row)), std::move(reason),
                    fmt::format("Write {}.", accepted_forms(row)));
        return;
    }
    const bool is_bare = is_scalar && needs_unit(row.type) && read_real(node.text);
    const std::string problem = is_bare ? std::string{"has no unit"} : fmt::format("is not {}", noun_of(row));
    const auto in_bytes = is_scalar ? bits_in_bytes(row.type, node.text) : std::string{};
    const std::string guess = in_bytes.empty() ? meant_by(row, node) : in_bytes;
    const std::string meant = guess.empty() ? guess : fmt::format("Did you mean {}? ", in_quotes(guess));
    const auto reason =
        row.type == Type::path && is_scalar && is_below_home(node.text)
            ? "only shells expand '~' to the home folder"
        : !in_bytes.empty() ? fmt::format("its unit is bits, and this key takes bytes: it is {}", in_bytes)
        : is_bare_boolean(row, path, given) ? "YAML reads it as true or false, unless it is in quotes"
        : row.type == Type::home && node.kind == NodeKind::map ? no_home_reason(node)
        : row.type == Type::interval && !is_scalar             ? no_interval_reason(node)
                                                               : std::string{};
    found.error(node.at, fmt::format("{} = {} {}", path, written, problem),
                reason.empty() ? reason_of(row) : reason,
                fmt::format("{}Write {}.", meant, accepted_forms(row)));
}

}  // namespace ziggurat::deck
