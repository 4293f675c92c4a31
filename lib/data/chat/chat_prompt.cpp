#include "data/chat/chat_prompt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/chat/answer_ends.hpp"
#include "data/chat/record_messages.hpp"
#include "data/unicode/characters.hpp"

namespace ziggurat::data {

ChatPrompts::ChatPrompts(const TextTokenizer& tokenizer,
                         const std::string& folder,
                         ChatTemplate chat,
                         const TemplateEngine& engine,
                         const std::vector<std::int32_t>& trained_ends)
    : chat_{std::move(chat)}, process_{chat_, engine} {
    std::set<std::int32_t> ends;
    if (const auto document = tokenizer.document_token()) {
        ends.insert(*document);
    }
    for (const auto& more : {configured_ends(folder, tokenizer.vocab_size()),
                             turn_ends_by(chat_, tokenizer, engine), trained_ends}) {
        ends.insert(more.begin(), more.end());
    }
    if (ends.empty()) {
        throw Error{
            ErrorKind::deck,
            fmt::format("no token ends an answer (the chat template '{}' ends it without an added token, "
                        "and the tokenizer has no eos_token). Give a tokenizer that has one.",
                        printable(chat_.path))};
    }
    end_tokens_.assign(ends.begin(), ends.end());
}

std::string ChatPrompts::render(const ChatRecord& conversation) {
    RenderRequest request{.messages = conversation.messages,
                          .variables = conversation.variables,
                          .has_tools = conversation.has_tools,
                          .asks_for_answer = true};
    request.marked = {0, std::ssize(request.messages)};
    return process_.render(request).text;
}

std::string chat_template_choice(const spec::Data& data) {
    const auto source =
        std::ranges::find(data.train, spec::TokenFormat::chat, [](const auto& one) { return one.format; });
    return source == data.train.end() ? "" : source->chat_template;
}

ChatRecord make_question(const std::string& system, const std::string& user) {
    expect_utf8(system);
    expect_utf8(user);
    auto made = make_conversation();
    if (!system.empty()) {
        made.messages.push_back(make_message("system", system));
    }
    made.messages.push_back(make_message("user", user));
    return made;
}

}  // namespace ziggurat::data
