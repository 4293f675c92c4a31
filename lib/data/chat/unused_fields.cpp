#include "data/chat/unused_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "base/text/units.hpp"
#include "data/chat/message_training.hpp"
#include "data/chat/record_fields.hpp"

namespace ziggurat::data {
namespace {

/// Maximum number of fields that a note names.
constexpr std::size_t max_named = 20;

bool is_part_of_name(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Returns true if `text` has `name` as a whole word.
bool mentions(std::string_view text, std::string_view name) {
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const auto end = at + name.size();
        if ((at == 0 || !is_part_of_name(text[at - 1])) &&
            (end == text.size() || !is_part_of_name(text[end]))) {
            return true;
        }
    }
    return false;
}

void add_names(const std::vector<std::string>& names, std::vector<std::string>& into) {
    for (const auto& name : names) {
        if (std::ranges::find(into, name) == into.end()) {
            into.push_back(name);
        }
    }
}

/// Returns `id (12 records), source (1 record)`, and the number of further fields.
std::string list_of(const std::map<std::string, std::int64_t>& counts) {
    std::string list;
    std::size_t named = 0;
    for (const auto& [name, count] : counts) {
        if (++named > max_named) {
            return list + fmt::format(" and {} more", counts.size() - max_named);
        }
        list += fmt::format("{}{} ({} record{})", list.empty() ? "" : ", ", for_display(name),
                            format_grouped(count), count == 1 ? "" : "s");
    }
    return list;
}

}  // namespace

void UnusedFields::add(const UnusedFields& other) {
    add_names(other.in_record, in_record);
    add_names(other.in_template, in_template);
}

UnusedFields fields_without_effect(const ChatRecord& record, const std::string& chat_template) {
    UnusedFields fields{.in_record = record.unused_fields, .in_template = {}};
    const auto expect_mention = [&](const std::string& key, const std::string& name) {
        if (!mentions(chat_template, key)) {
            add_names({name}, fields.in_template);
        }
    };
    for (const auto& [key, unused] : record.variables.items()) {
        expect_mention(key, key);
    }
    for (const auto& message : record.messages) {
        for (const auto& [key, unused] : message.items()) {
            const bool is_basic = key == "role" || key == "content";
            if (!is_basic && has_field(message, key) && !is_training_field(key)) {
                expect_mention(key, fmt::format("messages[].{}", key));
            }
        }
    }
    return fields;
}

void UnusedFieldCounts::add(const UnusedFields& fields) {
    for (const auto& name : fields.in_record) {
        ++in_record_[name];
    }
    for (const auto& name : fields.in_template) {
        ++in_template_[name];
    }
}

std::vector<std::string> UnusedFieldCounts::notes(const std::vector<std::string>& paths) const {
    std::vector<std::string> notes;
    const auto others = paths.size() - 1;
    const auto files =
        fmt::format("'{}'{}", printable(paths.front()),
                    others == 0 ? "" : fmt::format(" and {} more file{}", others, others == 1 ? "" : "s"));
    if (!in_record_.empty()) {
        notes.push_back(
            fmt::format("fields of records of {} that are not used: {}", files, list_of(in_record_)));
    }
    if (!in_template_.empty()) {
        notes.push_back(fmt::format("fields of records of {} that the chat template does not mention: {}",
                                    files, list_of(in_template_)));
    }
    return notes;
}

}  // namespace ziggurat::data
