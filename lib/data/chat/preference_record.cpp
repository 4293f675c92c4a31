#include "data/chat/preference_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "data/chat/record_json.hpp"
#include "data/chat/record_messages.hpp"

namespace ziggurat::data {
namespace {

constexpr std::array answer_keys{"chosen", "rejected"};

/// Returns true if the messages are equal, in any order of their keys.
bool is_same(const ChatJson& left, const ChatJson& right) {
    return left == right || nlohmann::json(left) == nlohmann::json(right);
}

ChatRecord text_answer(std::string prompt, std::string answer) {
    ChatRecord made;
    made.kind = RecordKind::plain_pair;
    made.is_answer = true;
    made.prompt = std::move(prompt);
    made.text = std::move(answer);
    return made;
}

void append_answer(const ChatJson& answer, const char* key, ChatRecord& made) {
    if (answer.is_string()) {
        made.messages.push_back(make_message("assistant", answer.get<std::string>()));
        return;
    }
    if (answer.is_object()) {
        append_message(answer, fmt::format("field '{}'", key), made);
        return;
    }
    if (!answer.is_array() || answer.empty()) {
        refuse_record(fmt::format("field '{}' is not a text, a message or a list of messages", key),
                      "Correct the record.");
    }
    for (std::size_t i = 0; i < answer.size(); ++i) {
        append_message(answer[i], fmt::format("{}[{}]", key, i), made);
    }
}

/// Marks a text `prompt` and a list `messages` as used if the conversation contains the same.
void use_copies(RecordFields& record, const ChatRecord& chosen) {
    const auto is_in = [&](const ChatJson& message) {
        return std::ranges::any_of(chosen.messages,
                                   [&](const auto& other) { return is_same(other, message); });
    };
    if (record.has_text("prompt") && is_in(make_message("user", record.peek("prompt").get<std::string>()))) {
        record.use("prompt");
    }
    if (record.has("messages") && record.peek("messages").is_array() &&
        std::ranges::all_of(record.peek("messages"), is_in)) {
        record.use("messages");
    }
}

}  // namespace

void expect_no_system(RecordFields& record, const std::string& text) {
    if (record.has("system") && record.peek("system") != "" &&
        !(record.has_text("system") &&
          text.find(record.peek("system").get<std::string>()) != std::string::npos)) {
        refuse_record("the record has a 'system', and its other fields are texts, which no template renders",
                      "Write lists of messages instead of texts, or remove the field.");
    }
}

std::vector<ChatRecord> answers_after(const ChatRecord& prompt, RecordFields& record) {
    std::vector<ChatRecord> answers;
    for (const char* key : answer_keys) {
        auto& answer = answers.emplace_back(prompt);
        answer.is_answer = true;
        answer.prompt_messages = std::ssize(prompt.messages);
        append_answer(record.use(key), key, answer);
    }
    return answers;
}

std::vector<ChatRecord> answers_to_text(RecordFields& record) {
    const auto prompt = record.use_text("prompt");
    expect_no_system(record, prompt);
    auto chosen = record.use_text("chosen");
    auto rejected = record.use_text("rejected");
    return {text_answer(prompt, std::move(chosen)), text_answer(prompt, std::move(rejected))};
}

std::vector<ChatRecord> split_messages(RecordFields& record) {
    std::vector<ChatRecord> answers(2, make_conversation());
    for (std::size_t i = 0; i < answers.size(); ++i) {
        answers[i].is_answer = true;
        append_answer(record.use(answer_keys[i]), answer_keys[i], answers[i]);
        insert_system(record, answers[i]);
        read_variables(record, answers[i]);
    }
    const auto& chosen = answers[0].messages;
    const auto& rejected = answers[1].messages;
    const auto limit = std::min(chosen.size(), rejected.size()) - 1;
    std::size_t common = 0;
    while (common < limit && is_same(chosen[common], rejected[common])) {
        ++common;
    }
    if (common == 0) {
        refuse_record("'chosen' and 'rejected' do not begin with the same message",
                      "Write the prompt at the beginning of both, or as a list of messages in 'prompt'.");
    }
    for (auto& answer : answers) {
        answer.prompt_messages = static_cast<std::int64_t>(common);
    }
    use_copies(record, answers[0]);
    return answers;
}

std::vector<ChatRecord> split_texts(RecordFields& record) {
    const auto chosen = record.use_text("chosen");
    const auto rejected = record.use_text("rejected");
    const auto common = static_cast<std::size_t>(
        std::mismatch(chosen.begin(), chosen.end(), rejected.begin(), rejected.end()).first - chosen.begin());
    const auto space = std::string_view{chosen}.substr(0, common).find_last_of(" \t\r\n");
    const auto end = space == std::string_view::npos ? 0 : space;
    expect_no_system(record, chosen.substr(0, end));
    return {text_answer(chosen.substr(0, end), chosen.substr(end)),
            text_answer(rejected.substr(0, end), rejected.substr(end))};
}

}  // namespace ziggurat::data
