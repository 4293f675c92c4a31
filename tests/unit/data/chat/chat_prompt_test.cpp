#include "data/chat/chat_prompt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/data/token_files.hpp"
#include "tests/unit/data/tokenizer_files.hpp"

namespace ziggurat::data {
namespace {

using test::added_token;
using test::deck_error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PromptsOfChats : public ::testing::Test {
  protected:
    struct Prompt {
        std::string text;
        std::vector<std::int32_t> end_tokens;
    };
    /// \param turn_end  text after each message
    Prompt prompt(const std::string& turn_end, const std::string& system = "") {
        auto json = test::tokenizer_json({});
        json["added_tokens"] = {added_token(256, "<|end|>"), added_token(257, "</s>"),
                                added_token(258, "<x>")};
        const auto tokenizer = open_tokenizer(folder_.write("tokenizer.json", json.dump()));
        ChatTemplate chat;
        chat.path = "own.jinja";
        chat.text = "{% for m in messages %}{{ m.role }}:{{ m.content }}" + turn_end +
                    "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";
        ChatPrompts prompts{*tokenizer, folder_ / "tokenizer.json", chat, {}, {}};
        auto question = make_question(system, "q?");
        const auto first = prompts.render(question);
        question.messages.push_back({{"role", "assistant"}, {"content", "a"}});
        EXPECT_TRUE(prompts.render(question).starts_with(first + "a")) << "one process renders both";
        return {first, prompts.end_tokens()};
    }

    test::ScratchFolder folder_;
};

TEST_F(PromptsOfChats, EndWithTheGenerationPrompt) {
    EXPECT_EQ(prompt("<|end|>").text, "user:q?<|end|>assistant:");
    EXPECT_EQ(prompt("<|end|>", "s").text, "system:s<|end|>user:q?<|end|>assistant:");
}

TEST_F(PromptsOfChats, KnowTheTokensThatEndAnAnswer) {
    EXPECT_THAT(prompt("<|end|>{{ '\\n' }}").end_tokens, ElementsAre(256, 257))
        << "</s> is the document token";
    EXPECT_THAT(prompt(";").end_tokens, ElementsAre(257));
    folder_.write("generation_config.json", R"({"eos_token_id": [258, 65]})");
    EXPECT_THAT(prompt("<|end|>").end_tokens, ElementsAre(65, 256, 257, 258));
    folder_.write("generation_config.json", R"({"eos_token_id": 259})");
    EXPECT_THAT(deck_error_of([&] { prompt("<|end|>"); }),
                HasSubstr("generation_config.json' (its content has an "
                          "eos_token_id that is not a token)"));
}

TEST(ChatPromptsOfBytes, NeedATokenThatEndsAnAnswer) {
    ChatTemplate chat;
    chat.path = "own.jinja";
    chat.text = "{% for m in messages %}{{ m.content }};{% endfor %}";
    const auto tokenizer = make_byte_tokenizer();
    EXPECT_THAT(deck_error_of([&] { ChatPrompts(*tokenizer, "", chat, {}, {}); }),
                HasSubstr("no token ends an answer (the chat template 'own.jinja'"));
    EXPECT_THAT(deck_error_of([] { make_question("", "\xff"); }), HasSubstr("not UTF-8"));
    EXPECT_THAT(deck_error_of([] { make_question("\xff", "a"); }), HasSubstr("not UTF-8"));
}

}  // namespace
}  // namespace ziggurat::data
