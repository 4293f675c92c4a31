#include "data/chat/record_fields.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/text/text_width.hpp"
#include "data/chat/record_json.hpp"

namespace ziggurat::data {
namespace {

/// Moves the fields of OpenAI's `input` into the record. They are the prompt of its preference.
void unfold_input(ChatJson& record) {
    const auto input = record.find("input");
    if (input == record.end() || !input->is_object()) {
        return;
    }
    const ChatJson prompt = *input;
    record.erase("input");
    for (const auto& [key, value] : prompt.items()) {
        if (has_field(record, key)) {
            refuse_record(fmt::format("'{}' is in the record and in its 'input'", for_display(key)),
                          "Remove one of them.");
        }
        record[key] = value;
    }
}

bool has_value(const ChatJson& value) {
    const bool is_empty_text = value.is_string() && value.get_ref<const std::string&>().empty();
    return !value.is_null() && !is_empty_text && !(value.is_structured() && value.empty());
}

}  // namespace

bool has_field(const ChatJson& object, const std::string& key) {
    const auto found = object.find(key);
    return found != object.end() && !found->is_null() && !(found->is_structured() && found->empty());
}

// Parentheses, because braces would make a list.
RecordFields::RecordFields(ChatJson json) : json_(std::move(json)) {
    rename("preferred_output", "chosen");
    rename("preferred_completion", "chosen");
    rename("non_preferred_output", "rejected");
    rename("non_preferred_completion", "rejected");
    if (is_preference()) {
        unfold_input(json_);
    }
    rename("interactions", "messages");
    rename("available_tools", "tools");
    rename("system_prompt", "system");
}

void RecordFields::rename(const std::string& from, const std::string& to) {
    if (!json_.contains(from) || !has_value(json_[from])) {
        return;
    }
    if (json_.contains(to) && has_value(json_[to])) {
        if (json_[from] != json_[to]) {
            refuse_record(fmt::format("the record has both '{}' and '{}'", from, to), "Remove one of them.");
        }
    } else {
        auto value = json_[from];
        json_[to] = std::move(value);
    }
    json_.erase(from);
}

const ChatJson& RecordFields::use(const std::string& key) {
    used_.insert(key);
    return json_[key];
}

std::string RecordFields::use_text(const std::string& key, bool is_optional) {
    if (!has(key) && is_optional) {
        return {};
    }
    if (!has_text(key)) {
        refuse_record(fmt::format("field '{}' is not a text", key), "Correct the record.");
    }
    return use(key).get<std::string>();
}

ChatJson RecordFields::use_json(const std::string& key, const std::string& remedy) {
    auto value = has(key) ? use(key) : ChatJson{};
    if (value.is_string()) {
        const auto text = value.get<std::string>();
        const bool is_blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
        value = is_blank ? ChatJson{}
                         : parse_record_json(text, fmt::format("the text of field '{}'", key), remedy);
    }
    return has_value(value) ? value : ChatJson{};
}

ChatJson RecordFields::use_list(const std::string& key, const char* elements) {
    const bool is_json = has_text(key) && peek(key).get_ref<const std::string&>().starts_with('[');
    auto list = is_json ? use_json(key, fmt::format("Write a list of {}.", elements)) : use(key);
    if (!list.is_array() || list.empty()) {
        refuse_record(fmt::format("field '{}' is not a list of {}", key, elements), "Correct the record.");
    }
    return list;
}

std::string RecordFields::names() const {
    std::string names;
    for (const auto& [key, unused] : json_.items()) {
        names += (names.empty() ? "" : ", ") + key;
    }
    return names;
}

std::vector<std::string> RecordFields::unused() const {
    std::vector<std::string> names;
    for (const auto& [key, value] : json_.items()) {
        if (has_value(value) && !used_.contains(key)) {
            names.push_back(key);
        }
    }
    return names;
}

void expect_supported(RecordFields& record) {
    for (const char* key : {"images", "image", "videos", "video", "audios", "audio"}) {
        if (record.has(key) && has_value(record.peek(key)) && record.peek(key) != "[]" &&
            record.peek(key) != "null") {
            refuse_record(fmt::format("the record has '{}', and this program trains on texts only", key),
                          "Remove the record or the field.");
        }
    }
    for (const char* key : {"label", "kto_tag"}) {
        if (record.has(key) && record.peek(key) == false) {
            refuse_record(fmt::format("the record's '{}' is false: its answer is an undesirable one (KTO), "
                                      "which no objective trains on",
                                      key),
                          "Remove the record.");
        }
    }
    for (const char* key : {"weight", "train", "training", "trainable"}) {
        if (!record.has(key) || !(record.peek(key).is_boolean() || record.peek(key).is_number())) {
            continue;
        }
        const auto& value = record.use(key);
        if (value != true && value != 1) {
            refuse_record(
                fmt::format("the record has {} {}, and all records count the same", key, value.dump()),
                "Remove the record or the field, or set weights of sources in data.train.");
        }
    }
}

}  // namespace ziggurat::data
