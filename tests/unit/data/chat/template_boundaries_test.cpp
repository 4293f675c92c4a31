// Spans of long conversations, which are found without a rendering of each beginning.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/chat/template_process.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using ::testing::HasSubstr;

ChatTemplate chat(const std::string& text) {
    ChatTemplate made;
    made.text = text;
    made.path = "own.jinja";
    made.special_tokens = {{"eos_token", {"</s>"}, false}};
    return made;
}

const std::string turns_of_template =
    "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }};{% endfor %}";
const std::string prompt_of_template = "{% if add_generation_prompt %}<assistant>{% endif %}";

/// Conversation of questions and answers, with the spans of the answers in its text.
struct LongConversation {
    RenderRequest request;
    std::vector<TextSpan> spans, excluded;
    std::string text;
};

/// \param excluded_in  one of that number of answers is excluded from the loss; 0: no answer
LongConversation long_conversation(std::int64_t messages, std::int64_t excluded_in = 0) {
    LongConversation made;
    for (std::int64_t i = 0; i < messages; ++i) {
        const bool is_answer = i % 2 == 1;
        const auto content = fmt::format("\u00e9{}", i * i);
        const std::string role = is_answer ? "assistant" : "user";
        made.request.messages.push_back({{"role", role}, {"content", content}});
        made.text += "<" + role + ">";
        const auto begin = made.text.size();
        made.text += content + ";";
        if (is_answer && excluded_in > 0 && (i / 2) % excluded_in == 0) {
            made.request.excluded.push_back({i, i + 1});
        } else if (is_answer) {
            made.request.turns.push_back({i, i + 1});
            made.spans.push_back({begin, made.text.size()});
        }
    }
    made.request.marked = {0, messages};
    return made;
}

/// Expects the spans of the answers. Returns the number of messages that were rendered.
std::int64_t expect_spans(const std::string& text, const LongConversation& asked, const std::string& end) {
    const auto made = chat(text);
    TemplateProcess process{made, {}};
    const auto rendered = process.render(asked.request);
    EXPECT_EQ(rendered.text, asked.text + end);
    auto spans = asked.spans;
    spans.back().end += end.size();
    EXPECT_EQ(rendered.spans, spans);
    return rendered.rendered_messages;
}

void expect_linear(const std::string& text, std::int64_t excluded_in, const std::string& end = "") {
    const auto few = expect_spans(text, long_conversation(100, excluded_in), end);
    const auto many = expect_spans(text, long_conversation(200, excluded_in), end);
    const auto most = expect_spans(text, long_conversation(1600, excluded_in), end);
    EXPECT_GT(many, few);
    EXPECT_LT(many, few * 5 / 2);
    EXPECT_LT(most, many * 9);
}

TEST(TemplateBoundaries, WorkGrowsWithTheLengthOfAConversation) {
    expect_linear(turns_of_template + prompt_of_template, 0);
}

TEST(TemplateBoundaries, AnEndTokenAfterTheLastMessageIsLeftOut) {
    expect_linear(turns_of_template + "{% if add_generation_prompt %}<assistant>{% else %}</s>{% endif %}", 0,
                  "</s>");
}

TEST(TemplateBoundaries, RolesMayHaveToAlternate) {
    expect_linear(
        "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ "
        "raise_exception('roles') "
        "}}{% endif %}{% endfor %}" +
            turns_of_template + prompt_of_template,
        0);
}

TEST(TemplateBoundaries, ExcludedAnswersOfBlocksAreCountedOnce) {
    expect_linear(
        "{% for m in messages %}<{{ m.role }}>{% if m.role == 'user' %}{{ m.content }};{% else %}"
        "{% generation %}{{ m.content }};{% endgeneration %}{% endif %}{% endfor %}",
        3);
}

TEST(TemplateBoundaries, ATemplateThatNumbersMessagesIsRenderedWhole) {
    const auto made = chat(
        "{% for m in messages %}<{{ m.role }} {{ loop.index }}>{{ m.content }};{% endfor %}"
        "{% if add_generation_prompt %}<assistant {{ messages | length + 1 }}>{% endif %}");
    TemplateProcess process{made, {}};
    const auto asked = long_conversation(60);
    const auto rendered = process.render(asked.request);
    ASSERT_EQ(rendered.spans.size(), 30U);
    for (std::size_t i = 0; i < rendered.spans.size(); ++i) {
        const auto [begin, end] = rendered.spans[i];
        EXPECT_EQ(rendered.text.substr(begin, end - begin),
                  fmt::format("\u00e9{};", (2 * i + 1) * (2 * i + 1)));
    }
}

TEST(TemplateBoundaries, APromptThatDependsOnDistantMessagesIsRenderedWhole) {
    const auto made = chat(
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% if m.content == '\u00e9400' %}{% set ns.n = "
        "1 %}"
        "{% endif %}{% endfor %}" +
        turns_of_template +
        "{% if add_generation_prompt %}{{ '<as>' if ns.n else '<assistant>' }}{% endif %}");
    TemplateProcess process{made, {}};
    const auto asked = long_conversation(100);
    const auto spans = process.render(asked.request).spans;
    ASSERT_EQ(spans.size(), asked.spans.size());
    for (std::size_t i = 0; i < spans.size(); ++i) {
        // From message 20 on, only "<as" of the prompt is in the text.
        EXPECT_EQ(spans[i].begin, asked.spans[i].begin - (2 * i + 1 > 20 ? 8 : 0)) << i;
    }
}

TEST(TemplateBoundaries, AnswersThatLaterMessagesChangeAreRefused) {
    const auto made =
        chat("{% for m in messages %}<{{ m.role }}>{{ m.content if loop.revindex < 20 }};{% endfor %}" +
             prompt_of_template);
    TemplateProcess process{made, {}};
    const auto asked = long_conversation(100);
    EXPECT_THAT(deck_error_of([&] { process.render(asked.request); }),
                HasSubstr("renders the messages before it in another form when more follow"));
}

}  // namespace
}  // namespace ziggurat::data
