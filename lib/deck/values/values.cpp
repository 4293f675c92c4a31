#include "deck/values/values.hpp"

#include <fmt/format.h>

namespace ziggurat::deck {

std::string Origin::comment() const {
    const std::string more = note.empty() ? "" : ": " + note;
    switch (kind) {
        case Kind::fallback:
            return "default" + more;
        case Kind::deck:
            return fmt::format("deck {}:{}", at.file, at.line) + more;
        case Kind::include:
            return fmt::format("include {}:{}", at.file, at.line) + more;
        case Kind::command_line:
            return command_line_name + more;
        case Kind::preset:
            return "preset " + note;
        case Kind::automatic:
            break;
    }
    return "auto" + more;
}

void Values::set(std::string path, Value value) {
    if (value.origin.at.line != 0) {
        places_[path] = value.origin.at;
    }
    values_[std::move(path)] = std::move(value);
}

void Values::settle(const std::string& path, Value::Data data, std::string written, std::string why) {
    const bool is_new = !values_.contains(path);
    Value& value = values_[path];
    if (is_new || value.word == "auto") {
        value.origin.kind = Origin::Kind::automatic;
    }
    value.data = std::move(data);
    value.word.clear();
    value.written = std::move(written);
    value.origin.note = std::move(why);
}

const Value* Values::find(const std::string& path) const {
    const auto found = values_.find(path);
    return found == values_.end() ? nullptr : &found->second;
}

std::string Values::word(const std::string& path) const {
    const Value* value = find(path);
    return value == nullptr ? std::string{} : value->word;
}

bool Values::is_written(const std::string& path) const {
    const Value* value = find(path);
    return value != nullptr &&
           (value->origin.kind == Origin::Kind::deck || value->origin.kind == Origin::Kind::include ||
            value->origin.kind == Origin::Kind::command_line);
}

std::int64_t Values::count(const std::string& path) const {
    const auto found = counts_.find(path);
    return found == counts_.end() ? 0 : found->second;
}

Place Values::place(std::string path) const {
    while (true) {
        const auto found = places_.find(path);
        if (found != places_.end()) {
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
