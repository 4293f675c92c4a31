#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/contract.hpp"
#include "deck/values/by_step.hpp"
#include "deck/values/reader.hpp"
#include "deck/values/value_errors.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::size_t longest_list = 1000;

using Parsed = std::optional<DeckValue::Data>;

template <class T>
Parsed parsed(const std::optional<T>& value) {
    return value ? Parsed{*value} : std::nullopt;
}

Origin origin_of(const Node& node) {
    switch (node.writer) {
        case Writer::deck:
            return {OriginKind::deck, node.at, {}};
        case Writer::include:
            return {OriginKind::include, node.at, {}};
        case Writer::command_line:
            break;
    }
    return {OriginKind::command_line, node.at, {}};
}

bool has_word(const Row& row, std::string_view text) {
    const auto keywords = split_words(row.keywords);
    return std::find(keywords.begin(), keywords.end(), text) != keywords.end();
}

Parsed read_boolean(std::string_view text) {
    // YAML 1.2, core schema, 10.3.2
    if (text == "true" || text == "True" || text == "TRUE") {
        return true;
    }
    if (text == "false" || text == "False" || text == "FALSE") {
        return false;
    }
    return std::nullopt;
}

Parsed read_amount(std::string_view text, bool takes_share) {
    if (const auto bytes = read_bytes(text)) {
        return Amount{.bytes = *bytes};
    }
    const auto share = takes_share ? read_share(text) : std::nullopt;
    return share ? Parsed{Amount{.share = *share, .is_share = true}} : std::nullopt;
}

/// Parses a tier's name, or shares over tiers; one of them may be `rest`.
Parsed read_home(const Node& node) {
    spec::Home home{0, 0, 0};
    const auto part = [&](std::string_view tier) -> double* {
        return tier == "device" ? &home.device
               : tier == "host" ? &home.host
               : tier == "nvme" ? &home.nvme
                                : nullptr;
    };
    if (node.kind == NodeKind::scalar) {
        double* whole = part(node.text);
        if (whole == nullptr) {
            return std::nullopt;
        }
        *whole = 1;
        return home;
    }
    double sum = 0;
    double* rest = nullptr;
    for (const MapEntry& entry : node.entries) {
        double* share = part(entry.key);
        if (share == nullptr || entry.value.kind != NodeKind::scalar) {
            return std::nullopt;
        }
        if (entry.value.text == "rest" && rest == nullptr) {
            rest = share;
            continue;
        }
        const auto value = read_share(entry.value.text);
        if (!value) {
            return std::nullopt;
        }
        *share = *value;
        sum += *value;
    }
    if (rest != nullptr) {
        *rest = std::max(0.0, 1 - sum);
        sum += *rest;
    }
    return std::abs(sum - 1) < 1e-9 ? Parsed{home} : std::nullopt;
}

Parsed read_interval(const Node& node) {
    spec::Interval interval{.steps = 0};
    if (node.kind == NodeKind::scalar) {
        return read_interval_part(node.text, interval) ? Parsed{interval} : std::nullopt;
    }
    for (const Node& item : node.items) {
        if (item.kind != NodeKind::scalar || !read_interval_part(item.text, interval)) {
            return std::nullopt;
        }
    }
    return node.items.empty() ? std::nullopt : Parsed{interval};
}

Parsed read_list(const Row& row, const Node& node) {
    std::vector<std::string> texts;
    std::vector<double> reals;
    if (node.kind != NodeKind::list || node.items.size() > longest_list) {
        return std::nullopt;
    }
    for (const Node& item : node.items) {
        if (item.kind != NodeKind::scalar || (row.type == Type::keyword_list && !has_word(row, item.text))) {
            return std::nullopt;
        }
        texts.push_back(item.text);
        if (row.type == Type::reals) {
            const auto value = read_real(item.text);
            if (!value || *value < row.min || *value > row.max) {
                return std::nullopt;
            }
            reals.push_back(*value);
        }
    }
    if (row.type == Type::reals) {
        return row.items == 0 || reals.size() == row.items ? Parsed{reals} : std::nullopt;
    }
    return texts;
}

Parsed read_integers(const Row& row, const Node& node) {
    const std::vector<Node> alone{node};
    const auto& items = node.kind == NodeKind::list ? node.items : alone;
    std::vector<std::int64_t> numbers;
    for (const Node& item : items) {
        const auto number =
            item.kind == NodeKind::scalar ? read_integer(item.text, row.noun) : std::optional<std::int64_t>{};
        if (!number || static_cast<double>(*number) < row.min || static_cast<double>(*number) > row.max) {
            return std::nullopt;
        }
        numbers.push_back(*number);
    }
    return numbers.empty() || numbers.size() > longest_list ? std::nullopt : Parsed{numbers};
}

Parsed read_scalar(const Row& row, const std::string& text) {
    switch (row.type) {
        case Type::text:
            return text;
        case Type::path:
            return text.empty() || is_below_home(text) ? std::nullopt : Parsed{text};
        case Type::boolean:
            return read_boolean(text);
        case Type::integer:
            return parsed(read_integer(text, row.noun));
        case Type::real:
            return parsed(read_real(text));
        case Type::size:
            return parsed(read_bytes(text));
        case Type::size_or_share:
            return read_amount(text, true);
        case Type::share:
            return parsed(read_share(text));
        case Type::rate:
            return parsed(read_rate(text));
        case Type::duration:
            return parsed(read_duration(text));
        case Type::training_length:
            return parsed(read_training_length(text));
        case Type::map:
        case Type::list:
        case Type::alias:
        case Type::variables:
        case Type::keyword:  // keywords of the row are handled above
        case Type::real_by_step:
        case Type::interval:
        case Type::home:
        case Type::texts:
        case Type::reals:
        case Type::integers:
        case Type::keyword_list:
            break;  // not scalars
    }
    return std::nullopt;
}

Parsed read_data(const Row& row, const Node& node) {
    switch (row.type) {
        case Type::home:
            return node.kind == NodeKind::list ? std::nullopt : read_home(node);
        case Type::interval:
            return node.kind == NodeKind::map ? std::nullopt : read_interval(node);
        case Type::integers:
            return read_integers(row, node);
        case Type::real_by_step:
            return parsed(read_by_step(row, node));
        case Type::texts:
        case Type::reals:
        case Type::keyword_list:
            return read_list(row, node);
        case Type::map:
        case Type::list:
        case Type::alias:
        case Type::variables:
        case Type::text:
        case Type::path:
        case Type::boolean:
        case Type::keyword:
        case Type::integer:
        case Type::real:
        case Type::size:
        case Type::size_or_share:
        case Type::share:
        case Type::rate:
        case Type::duration:
        case Type::training_length:
            break;
    }
    return node.kind == NodeKind::scalar ? read_scalar(row, node.text) : std::nullopt;
}

bool is_within(
    const Row& row, const std::string& path, const Node& node, const DeckValue& value, Diagnostics& found) {
    const auto* by_step = std::get_if<ByStep>(&value.data);
    const double number = by_step != nullptr && node.kind == NodeKind::scalar ? by_step->front().weight
                          : std::holds_alternative<std::int64_t>(value.data)
                              ? static_cast<double>(std::get<std::int64_t>(value.data))
                          : std::holds_alternative<double>(value.data)
                              ? std::get<double>(value.data)
                              : std::max(row.min, std::min(row.max, 0.0));
    if (number >= row.min && number <= row.max) {
        return true;
    }
    refuse_range(row, path, node, found);
    return false;
}

}  // namespace

std::optional<DeckValue> read_value(const Row& row,
                                    const std::string& path,
                                    const Node& node,
                                    Diagnostics& found) {
    DeckValue value;
    value.origin = origin_of(node);
    const bool is_keyword =
        node.kind == NodeKind::scalar && row.type != Type::keyword_list && has_word(row, node.text);
    value.written = written_as(row, node, is_keyword);
    value.without_secrets = written_without_secrets(row, node, is_keyword);
    if (is_keyword) {
        value.keyword = node.text;
        return value;
    }
    if (has_nul(node)) {
        refuse_nul(path, node, found);
        return std::nullopt;
    }
    auto data = is_bare_boolean(row, path, node) ? Parsed{} : read_data(row, node);
    if (!data) {
        refuse_form(row, path, node, found);
        return std::nullopt;
    }
    value.data = std::move(*data);
    return is_within(row, path, node, value, found) ? std::optional{std::move(value)} : std::nullopt;
}

Node node_of(const std::string& text) {
    Node node;
    node.kind = NodeKind::scalar;
    node.text = text;
    if (text.starts_with('[') || text.starts_with('{')) {
        Diagnostics found;
        auto list = parse_document(text, {"default"}, found);
        ZG_EXPECTS(list.has_value());
        node = std::move(*list);
        node.at = {};
    }
    return node;
}

DeckValue value_of(const Row& row, const std::string& text) {
    Diagnostics found;
    auto value = read_value(row, row.path, node_of(text), found);
    ZG_ENSURES(value.has_value());
    value->origin = {};
    return std::move(*value);
}

}  // namespace ziggurat::deck
