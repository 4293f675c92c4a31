#include "data/chat/chat_prompt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/chat/chat_encoder.hpp"
#include "data/chat/template_process.hpp"
#include "data/mapped_file.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"
#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

namespace fs = std::filesystem;

ChatJson messages_of(const std::string& system, const std::string& user) {
    auto messages = ChatJson::array();
    if (!system.empty()) {
        messages.push_back({{"role", "system"}, {"content", system}});
    }
    messages.push_back({{"role", "user"}, {"content", user}});
    return messages;
}

/// Adds the eos_token_id of generation_config.json, a number or a list.
void add_configured_ends(const std::string& tokenizer, std::int64_t vocab, std::set<std::int32_t>& ends) {
    std::error_code problem;
    const fs::path path{tokenizer};
    const auto folder = fs::is_directory(path, problem) ? path : path.parent_path();
    const auto file = folder / "generation_config.json";
    if (tokenizer.empty() || !fs::is_regular_file(file, problem)) {
        return;
    }
    const MappedFile mapped{file.string(), "tokenizer"};
    const auto json = parse_json_file(mapped);
    const JsonObject fields{json, "", mapped.path()};
    if (!fields.has("eos_token_id")) {
        return;
    }
    const auto& value = fields.at("eos_token_id");
    for (const auto& id : value.is_array() ? value : TokenizerJson::array({value})) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocab)) {
            fields.refuse("has an eos_token_id that is not a token");
        }
        ends.insert(id.get<std::int32_t>());
    }
}

/// Returns the added token at the end of an answer that the template renders; empty if there is no such
/// token.
std::optional<std::int32_t> end_of_turn(const TextTokenizer& tokenizer,
                                        const ChatTemplate& chat,
                                        const TemplateEngine& engine) {
    ChatJson record;
    record["messages"] = messages_of("", "a");
    record["messages"].push_back({{"role", "assistant"}, {"content", "a"}});
    const auto sample =
        ChatEncoder{tokenizer, &chat, "", engine, spec::LossOn::completion}.encode(record.dump()).front();
    for (auto i = sample.ids.size(); i-- > 0;) {
        if (sample.counts[i] == 0) {
            continue;
        }
        if (tokenizer.is_added(sample.ids[i])) {
            return sample.ids[i];
        }
        std::string text;
        tokenizer.decode(std::span{&sample.ids[i], 1}, text);
        if (text.find_first_not_of(" \n\r\t") != std::string::npos) {
            break;
        }
    }
    return std::nullopt;
}

}  // namespace

ChatPrompt make_chat_prompt(const TextTokenizer& tokenizer,
                            const std::string& folder,
                            const ChatTemplate& chat,
                            const TemplateEngine& engine,
                            const std::string& system,
                            const std::string& user) {
    expect_utf8(system);
    expect_utf8(user);
    RenderRequest request{.messages = messages_of(system, user), .asks_for_answer = true};
    request.marked = {0, static_cast<std::int64_t>(std::ssize(request.messages))};
    ChatPrompt prompt{.text = TemplateProcess{chat, engine}.render(request).text, .end_tokens = {}};
    std::set<std::int32_t> ends;
    if (const auto document = tokenizer.document_token()) {
        ends.insert(*document);
    }
    add_configured_ends(folder, tokenizer.vocab_size(), ends);
    if (const auto turn = end_of_turn(tokenizer, chat, engine)) {
        ends.insert(*turn);
    }
    if (ends.empty()) {
        throw Error{
            ErrorKind::deck,
            fmt::format("no token ends an answer (the chat template '{}' ends it without an added token, "
                        "and the tokenizer has no eos_token). Give a tokenizer that has one.",
                        printable(chat.path))};
    }
    prompt.end_tokens.assign(ends.begin(), ends.end());
    return prompt;
}

}  // namespace ziggurat::data
