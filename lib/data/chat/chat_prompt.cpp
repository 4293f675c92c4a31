#include "data/chat/chat_prompt.hpp"

#include <fmt/format.h>

#include <set>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/chat/answer_ends.hpp"
#include "data/chat/template_process.hpp"
#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

ChatJson messages_of(const std::string& system, const std::string& user) {
    auto messages = ChatJson::array();
    if (!system.empty()) {
        messages.push_back({{"role", "system"}, {"content", system}});
    }
    messages.push_back({{"role", "user"}, {"content", user}});
    return messages;
}

}  // namespace

ChatPrompt make_chat_prompt(const TextTokenizer& tokenizer,
                            const std::string& folder,
                            const ChatTemplate& chat,
                            const TemplateEngine& engine,
                            const std::vector<std::int32_t>& trained_ends,
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
    for (const auto& more : {configured_ends(folder, tokenizer.vocab_size()),
                             turn_ends_by(chat, tokenizer, engine), trained_ends}) {
        ends.insert(more.begin(), more.end());
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
