#include "data/chat/prompt_record.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "data/chat/chat_prompt.hpp"
#include "data/chat/record_fields.hpp"
#include "data/chat/record_json.hpp"
#include "data/chat/record_messages.hpp"
#include "data/chat/record_reader.hpp"
#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

/// Reads the `prompt` of a record, which is a text.
void read_text(RecordFields& record, const PromptForm& form, PromptRecord& made) {
    made.text = record.use_text("prompt");
    if (made.text.empty()) {
        refuse_record("field 'prompt' is empty, and the first token is predicted from it",
                      "Write a few words.");
    }
    made.is_chat = form.is_chat;
    if (!form.is_chat && record.has("system")) {
        refuse_record("the record has 'system', and its prompt is a text that is continued",
                      "Add --chat, or write 'messages' instead of 'prompt'.");
    }
    if (form.is_chat) {
        made.conversation = make_question("", made.text);
    }
}

}  // namespace

PromptRecord parse_prompt_record(std::string_view json, const PromptForm& form) {
    expect_utf8(json);
    auto parsed = parse_record_json(json, "the record", "Write one object on each line.");
    if (!parsed.is_object()) {
        refuse_record("the record is not an object", "Write {\"prompt\": ...} or {\"messages\": [...]}.");
    }
    PromptRecord made;
    made.given = ChatJson::object();
    made.conversation = make_conversation();
    if (const auto id = parsed.find("id"); id != parsed.end()) {
        made.given["id"] = *id;
        parsed.erase("id");
    }
    RecordFields record{std::move(parsed)};
    if (record.has("prompt") == record.has("messages")) {
        refuse_record(record.has("prompt")
                          ? "the record has both 'prompt' and 'messages'"
                          : fmt::format("the record has no 'prompt' or 'messages' (fields: {})",
                                        for_display(record.names())),
                      "Write one of them.");
    }
    const char* key = record.has("prompt") ? "prompt" : "messages";
    made.given[key] = record.peek(key);
    if (record.has_text("prompt")) {
        read_text(record, form, made);
    } else {
        append_messages(record, key, made.conversation);
        made.is_chat = true;
        if (made.conversation.messages.back()["role"] == "assistant") {
            refuse_record(
                fmt::format("{} ends with a message of the assistant, and an answer follows one of the user",
                            key),
                "Remove that message.");
        }
    }
    if (made.is_chat) {
        auto& messages = made.conversation.messages;
        insert_system(record, made.conversation);
        if (!form.system.empty() && messages[0]["role"] != "system") {
            messages.insert(messages.begin(), make_message("system", form.system));
        }
        read_variables(record, made.conversation);
    }
    made.unused_fields = record.unused();
    return made;
}

std::vector<PromptRecord> read_prompt_records(const std::string& path,
                                              const std::string& name,
                                              const PromptForm& form) {
    std::vector<PromptRecord> made;
    RecordReader reader{{path}};
    while (const auto batch = reader.next()) {
        for (const auto& raw : batch->records) {
            try {
                made.push_back(parse_prompt_record(raw.json, form));
            } catch (const Error& problem) {
                throw Error{problem.kind(),
                            fmt::format("{}, line {}: {}", printable(name), raw.line, problem.what())};
            }
            made.back().line = raw.line;
        }
    }
    if (made.empty()) {
        throw Error{ErrorKind::deck,
                    fmt::format("{} has no prompts (all its lines are blank). Write one object on each line, "
                                "with prompt or messages.",
                                printable(name))};
    }
    return made;
}

}  // namespace ziggurat::data
