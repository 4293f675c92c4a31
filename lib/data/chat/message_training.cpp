#include "data/chat/message_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text/text_width.hpp"
#include "data/chat/record_fields.hpp"
#include "data/chat/record_json.hpp"

namespace ziggurat::data {
namespace {

/// Field of a message or of a part of its content.
struct TrainingField {
    std::string_view name;
    bool may_be_number;
};

constexpr std::array training_fields{TrainingField{"weight", true},    TrainingField{"loss_scale", true},
                                     TrainingField{"train", true},     TrainingField{"training", true},
                                     TrainingField{"trainable", true}, TrainingField{"loss", false}};
constexpr std::array detail_fields{"train_detail", "training_detail", "reasoning_training_detail"};

[[noreturn]] void refuse_parts(const std::string& location, const std::string& field) {
    refuse_record(
        fmt::format("{} has '{}', which excludes parts of it from the loss (not supported)", location, field),
        "Split the message, or remove the field.");
}

}  // namespace

bool is_training_field(const std::string& key) {
    return std::ranges::find(training_fields, key, &TrainingField::name) != training_fields.end();
}

std::optional<bool> counts_by_field(const ChatJson& message, const std::string& location) {
    std::optional<bool> counts;
    std::string first;
    for (const auto& field : training_fields) {
        const std::string name{field.name};
        if (!has_field(message, name)) {
            continue;
        }
        const auto& value = message[name];
        if (!field.may_be_number && !value.is_boolean()) {
            continue;
        }
        const bool is_one = value == true || value == 1;
        if (!is_one && value != false && value != 0) {
            refuse_record(fmt::format("{} has {} {}, and a message counts in the loss either fully or not",
                                      location, name, for_display(value.dump())),
                          "Use 0 or 1, true or false.");
        }
        if (counts && *counts != is_one) {
            refuse_record(fmt::format("'{}' and '{}' of {} contradict each other", first, name, location),
                          "Remove one of them.");
        }
        counts = is_one;
        first = name;
    }
    for (const char* name : detail_fields) {
        if (has_field(message, name)) {
            refuse_parts(location, name);
        }
    }
    return counts;
}

void expect_supported_content(const ChatJson& message, const std::string& location) {
    if (!has_field(message, "content") || !message["content"].is_array()) {
        return;
    }
    for (std::size_t i = 0; i < message["content"].size(); ++i) {
        const auto& part = message["content"][i];
        if (!part.is_object()) {
            continue;
        }
        const auto type =
            part.contains("type") && part["type"].is_string() ? part["type"].get<std::string>() : "text";
        for (const char* kind : {"image", "video", "audio"}) {
            if (type.find(kind) != std::string::npos) {
                refuse_record(fmt::format("content[{}] of {} is of type '{}', and this program trains on "
                                          "texts only",
                                          i, location, for_display(type)),
                              "Remove the record or the part.");
            }
        }
        const auto name = fmt::format("content[{}] of {}", i, location);
        if (!counts_by_field(part, name).value_or(true)) {
            refuse_parts(location, fmt::format("content[{}]", i));
        }
    }
}

}  // namespace ziggurat::data
