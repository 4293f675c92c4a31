#include "deck/values/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace ziggurat::deck {
namespace {

/// Parses a note `FILE:LINE` or `FILE:LINE: NOTE` into location and note of an origin.
Origin with_place(Origin origin) {
    const std::string_view text = origin.note;
    for (auto colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
        int line = 0;
        const auto [stop, problem] =
            std::from_chars(text.data() + colon + 1, text.data() + text.size(), line);
        const auto after = text.substr(stop - text.data());
        if (problem == std::errc{} && (after.empty() || after.starts_with(": "))) {
            const std::string note{after.substr(std::min<std::size_t>(2, after.size()))};
            return {origin.kind, {std::string{text.substr(0, colon)}, line, 0}, note};
        }
    }
    return origin;
}

}  // namespace

std::string Origin::comment() const {
    const std::string more = note.empty() ? "" : ": " + note;
    switch (kind) {
        case OriginKind::fallback:
            return "default" + more;
        case OriginKind::deck:
            return fmt::format("deck {}:{}", at.file, at.line) + more;
        case OriginKind::include:
            return fmt::format("include {}:{}", at.file, at.line) + more;
        case OriginKind::command_line:
            return command_line_name + more;
        case OriginKind::preset:
            return "preset " + note;
        case OriginKind::automatic:
            break;
    }
    return "auto" + more;
}

Origin origin_of_comment(std::string_view comment) {
    Origin origin;
    origin.kind = OriginKind::automatic;
    origin.note = comment;
    // Recognizes the comment `keyword`, alone or followed by `separator` and a note.
    const auto says = [&](OriginKind kind, std::string_view keyword, std::string_view separator) {
        const bool is_printed =
            comment.starts_with(keyword) &&
            (comment.size() == keyword.size() || comment.substr(keyword.size()).starts_with(separator));
        if (is_printed) {
            origin.kind = kind;
            origin.note = comment.substr(std::min(keyword.size() + separator.size(), comment.size()));
        }
        return is_printed;
    };
    if (says(OriginKind::deck, "deck", " ") || says(OriginKind::include, "include", " ")) {
        return with_place(std::move(origin));
    }
    if (!says(OriginKind::fallback, "default", ": ") &&
        !says(OriginKind::command_line, command_line_name, ": ") &&
        !says(OriginKind::preset, "preset", " ")) {
        says(OriginKind::automatic, "auto", ": ");
    }
    return origin;
}

void Values::replace_origins(const std::function<Origin(const Origin&)>& replacement) {
    for (auto& [path, value] : values_) {
        value.origin = replacement(value.origin);
    }
}

void Values::set(std::string path, DeckValue value) {
    if (value.origin.at.line != 0) {
        locations_[path] = value.origin.at;
    }
    values_[std::move(path)] = std::move(value);
}

std::vector<std::string> Values::paths() const {
    std::vector<std::string> all;
    for (const auto& [path, value] : values_) {
        all.push_back(path);
    }
    return all;
}

void Values::set_resolved(const std::string& path,
                          DeckValue::Data data,
                          std::string written,
                          std::string reason,
                          std::string without_secrets) {
    const bool is_new = !values_.contains(path);
    DeckValue& value = values_[path];
    if (is_new || value.keyword == "auto") {
        value.origin.kind = OriginKind::automatic;
    }
    value.data = std::move(data);
    value.keyword.clear();
    value.written = std::move(written);
    value.without_secrets = std::move(without_secrets);
    value.origin.note = std::move(reason);
}

void Values::set_resolved_keyword(const std::string& path, std::string keyword, std::string reason) {
    set_resolved(path, {}, keyword, std::move(reason));
    values_[path].keyword = std::move(keyword);
}

const DeckValue* Values::find(const std::string& path) const {
    const auto found = values_.find(path);
    return found == values_.end() ? nullptr : &found->second;
}

std::string Values::keyword(const std::string& path) const {
    const DeckValue* value = find(path);
    return value == nullptr ? std::string{} : value->keyword;
}

bool Values::is_written(const std::string& path) const {
    const DeckValue* value = find(path);
    return value != nullptr &&
           (value->origin.kind == OriginKind::deck || value->origin.kind == OriginKind::include ||
            value->origin.kind == OriginKind::command_line);
}

std::int64_t Values::count(const std::string& path) const {
    const auto found = counts_.find(path);
    return found == counts_.end() ? 0 : found->second;
}

SourceLocation Values::location(std::string path) const {
    while (true) {
        const auto found = locations_.find(path);
        if (found != locations_.end()) {
            return found->second;
        }
        if (path.empty()) {
            return {};
        }
        path = parent_of(path);
    }
}

bool Values::is_bad(const std::string& path) const {
    for (std::string at = path; !at.empty(); at = parent_of(at)) {
        if (bad_.contains(at)) {
            return true;
        }
    }
    return false;
}

bool Values::has_bad(const std::string& path) const {
    const auto is_below = [&](char separator) {
        const std::string prefix = path + separator;
        const auto first = bad_.lower_bound(prefix);
        return first != bad_.end() && first->starts_with(prefix);
    };
    return is_bad(path) || is_below('.') || is_below('[');
}

std::string parent_of(const std::string& path) {
    const std::size_t cut = path.find_last_of(".[");
    return cut == std::string::npos ? std::string{} : path.substr(0, cut);
}

}  // namespace ziggurat::deck
