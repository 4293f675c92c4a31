#include "data/chat/template_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ChatTemplate chat(const std::string& text) {
    ChatTemplate made;
    made.text = text;
    made.path = "own.jinja";
    made.special_tokens = {{"eos_token", {"</s>"}, false}, {"others", {"<a>"}, true}};
    return made;
}

RenderRequest request(const std::string& messages, std::vector<MessageRange> turns = {}) {
    RenderRequest made{.messages = ChatJson::parse(messages), .turns = std::move(turns)};
    made.marked = {0, static_cast<std::int64_t>(made.messages.size())};
    return made;
}

const std::string three_messages =
    R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "\u00e9b"},
                                       {"role": "assistant", "content": "c"}])";

/// Returns the message with which a template fails to render one message.
std::string failure(const std::string& text, TemplateEngine engine = {}) {
    const auto made = chat(text);
    return deck_error_of([&] {
        TemplateProcess process{made, engine};
        process.render(request(R"([{"role": "user", "content": "a"}])"));
    });
}

TEST(TemplateProcess, RendersInTheEnvironmentOfTransformers) {
    const auto made = chat(
        "{% for m in messages %}\n"
        "    {% if loop.first %}{% continue %}{% endif %}\n"
        "{{ m | tojson }}{{ eos_token }}{{ others[0] }}{{ tools is none }}{{ 3 }}{{ '<&' }}\n"
        "{% endfor %}\n"
        "{{ strftime_now('%%') }}{{ add_generation_prompt }}{{ x }}\n");
    TemplateProcess process{made, {}};
    auto asked = request(three_messages);
    asked.variables["x"] = ChatJson::parse(R"({"b": 1, "a": 2.0})");
    asked.asks_for_answer = true;
    EXPECT_EQ(process.render(asked).text,
              "{\"role\": \"assistant\", \"content\": \"\u00e9b\"}</s><a>True3<&\n"
              "{\"role\": \"assistant\", \"content\": \"c\"}</s><a>True3<&\n"
              "%True{'b': 1, 'a': 2.0}");
    EXPECT_EQ(process.span_method(false), SpanMethod::prefix_rendering);
}

TEST(TemplateProcess, ReturnsGenerationBlocksInBytes) {
    const auto made = chat(
        "{% for m in messages %}{% if m.role == 'user' %}\u00fc{{ m.content }}{% else %}"
        "<{% generation %}{{ m.content }}>{% endgeneration %}{% endif %}{% endfor %}");
    TemplateProcess process{made, {}};
    EXPECT_EQ(process.span_method(false), SpanMethod::generation_blocks);
    const auto all = process.render(request(three_messages, {{1, 2}, {2, 3}}));
    EXPECT_EQ(all.text, "\u00fca<\u00e9b><c>");
    EXPECT_THAT(all.spans, ElementsAre(TextSpan{4, 8}, TextSpan{9, 11}));
    auto last = request(three_messages, {{2, 3}});
    last.marked = {2, 3};
    EXPECT_THAT(process.render(last).spans, ElementsAre(TextSpan{9, 11}));
    last.marked = {1, 2};
    EXPECT_THAT(process.render(last).spans, ElementsAre(TextSpan{4, 8}));
}

TEST(TemplateProcess, RendersBeginningsOfConversations) {
    const auto made = chat(
        "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"
        "{% if add_generation_prompt %}a:{% endif %}");
    TemplateProcess process{made, {}};
    const auto rendered = process.render(request(three_messages, {{1, 2}, {2, 3}}));
    EXPECT_EQ(rendered.text, "u:a;a:\u00e9b;a:c;");
    EXPECT_THAT(rendered.spans, ElementsAre(TextSpan{6, 10}, TextSpan{12, 14}));
    EXPECT_THAT(process.render(request(three_messages, {{1, 3}})).spans, ElementsAre(TextSpan{6, 14}));
}

TEST(TemplateProcess, LeavesOutAnEndTokenAfterTheLastMessage) {
    const auto made = chat(
        "{% for m in messages %}{{ m.content }};{% endfor %}"
        "{% if add_generation_prompt %}{% else %}{{ eos_token }}{% endif %}");
    TemplateProcess process{made, {}};
    const auto rendered = process.render(request(three_messages, {{1, 2}, {2, 3}}));
    EXPECT_THAT(rendered.spans, ElementsAre(TextSpan{2, 6}, TextSpan{6, 12}));
}

TEST(TemplateProcess, FindsTurnsWhoseBeginningsCannotBeRendered) {
    const std::string strict =
        "{% if messages | length == 0 or messages[0].role != 'user' %}{{ raise_exception('no user') }}{% "
        "endif %}"
        "{% if add_generation_prompt and messages[-1].role != 'user' %}{{ raise_exception('not asked') }}{% "
        "endif %}"
        "{% if messages | length == 2 and messages[1].content == 'c' %}{{ raise_exception('odd') }}{% endif "
        "%}";
    const std::string body =
        "{% for m in messages %}{{ m.role[0] }}: {{ m.content | trim }};{% endfor %}"
        "{% if add_generation_prompt %}a:{% endif %}";
    const auto made = chat(strict + body);
    TemplateProcess process{made, {}};
    const auto rendered = process.render(request(three_messages, {{1, 2}, {2, 3}}));
    EXPECT_EQ(rendered.text, "u: a;a: \u00e9b;a: c;");
    EXPECT_THAT(rendered.spans, ElementsAre(TextSpan{7, 12}, TextSpan{14, 17}));
    auto excluded = request(three_messages, {{1, 3}});
    excluded.excluded = {{2, 3}};
    EXPECT_THAT(process.render(excluded).excluded, ElementsAre(TextSpan{12, 17}));

    const auto marked = chat(strict +
                             "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% else %}{% "
                             "generation %}{{ m.content }}"
                             "{% endgeneration %}{% endif %};{% endfor %}{% if messages | length == 2 %}{{ "
                             "raise_exception('two') }}"
                             "{% endif %}");
    TemplateProcess with_blocks{marked, {}};
    auto asked = request(three_messages, {{2, 3}});
    asked.excluded = {{1, 2}};
    EXPECT_THAT(with_blocks.render(asked).spans, ElementsAre(TextSpan{6, 7}));
}

TEST(TemplateProcess, BeginsTurnsWhereTheGenerationPromptDiffers) {
    // The prompt of DeepSeek-R1 begins a thought, which earlier answers do not have.
    const auto made = chat(
        "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"
        "{% if add_generation_prompt %}a:<think>{% endif %}");
    TemplateProcess process{made, {}};
    EXPECT_THAT(process.render(request(three_messages, {{1, 2}, {2, 3}})).spans,
                ElementsAre(TextSpan{6, 10}, TextSpan{12, 14}));
    const std::string answer_first =
        R"([{"role": "assistant", "content": "b"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "c"}])";
    EXPECT_THAT(process.render(request(answer_first, {{0, 1}, {2, 3}})).spans,
                ElementsAre(TextSpan{2, 4}, TextSpan{10, 12}));
    // In Qwen3, only answers after the last question have a thought, and a conversation needs a message.
    const auto thinking = chat(
        "{% set ns = namespace(last=messages[0].role | length) %}{% for m in messages %}"
        "{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
        "{% for m in messages %}{{ m.role[0] }}:{% if m.role != 'user' and loop.index0 > ns.last %}<>{% "
        "endif %}"
        "{{ m.content }};{% endfor %}{% if add_generation_prompt %}a:{% endif %}");
    TemplateProcess other{thinking, {}};
    EXPECT_THAT(other.render(request(answer_first, {{0, 1}, {2, 3}})).spans,
                ElementsAre(TextSpan{2, 4}, TextSpan{10, 14}));
}

TEST(TemplateProcess, NamesTheFailureOfABeginningThatNothingReplaces) {
    const auto made = chat(
        "{% if messages | length in (2, 4) %}{{ raise_exception('never two') }}{% endif %}"
        "{% for m in messages %}{{ m.content | upper | lower }}{{ m.content }}{% endfor %}");
    TemplateProcess process{made, {}};
    EXPECT_THAT(deck_error_of([&] {
                    process.render(request(three_messages, {{2, 3}}));
                }),
                HasSubstr("never two"));
}

TEST(TemplateProcess, RefusesTurnsThatLaterMessagesChange) {
    const auto made = chat(
        "{% for m in messages %}{% if loop.last or m.role == 'user' %}{{ m.content }}{% endif %};{% endfor "
        "%}");
    TemplateProcess process{made, {}};
    EXPECT_THAT(deck_error_of([&] {
                    process.render(request(three_messages, {{1, 2}, {2, 3}}));
                }),
                AllOf(HasSubstr("the loss of message 2"), HasSubstr("'own.jinja'"),
                      HasSubstr("in another form when more follow"), HasSubstr("loss_on completion")));
    const auto silent = chat("{{ messages[0].content }}");
    TemplateProcess other{silent, {}};
    EXPECT_THAT(deck_error_of([&] {
                    other.render(request(three_messages, {{1, 2}}));
                }),
                HasSubstr("renders no text for it"));
}

TEST(TemplateProcess, NamesTheLineOfAFailure) {
    EXPECT_THAT(failure("\n{% if %}"), HasSubstr("'own.jinja', line 2, fails"));
    EXPECT_THAT(failure("a\n{{ messages.x.y }}"),
                AllOf(HasSubstr("line 2,"), HasSubstr("has no attribute 'x'")));
    EXPECT_THAT(failure("a\n\n{{ raise_exception('no system') }}"),
                AllOf(HasSubstr("line 3,"), HasSubstr("(no system)")));
    EXPECT_THAT(failure("{% macro m() %}\n{{ 1 / 0 }}\n{% endmacro %}{{ m() }}"),
                AllOf(HasSubstr("line 2,"), HasSubstr("ZeroDivisionError")));
    EXPECT_THAT(failure("\n{{ ''.__class__.__mro__ }}"), AllOf(HasSubstr("line 2,"), HasSubstr("unsafe")));
    EXPECT_THAT(failure("\n{% set _ = messages.append(1) %}"),
                AllOf(HasSubstr("line 2,"), HasSubstr("is unsafe")));
    EXPECT_THAT(failure("\n{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
                AllOf(HasSubstr("line 2,"), HasSubstr("nested too deeply")));
    EXPECT_THAT(failure("{% macro m() %}yy{% generation %}x{% endgeneration %}{% endmacro %}zz{{ m() }}"),
                HasSubstr("inside of a macro"));
    EXPECT_THAT(failure("{% include 'x' %}"), HasSubstr("line 1,"));
}

TEST(TemplateProcess, StopsATemplateThatExceedsALimit) {
    const std::string loops =
        "\n{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    EXPECT_THAT(failure(loops, {.seconds = 0.1}),
                AllOf(HasSubstr("line 2,"), HasSubstr("longer than 0.1 s")));
    EXPECT_THAT(
        failure("\n{% for a in range(99999) %}{{ 'x' * 100 }}{% endfor %}", {.max_characters = 1 << 20}),
        AllOf(HasSubstr("line 2,"), HasSubstr("more than 1048576 characters")));
    EXPECT_THAT(failure("\n{{ 'x' * (2 ** 33) }}"),
                AllOf(HasSubstr("line 2,"), HasSubstr("1024 MiB of memory")));
}

/// Returns a program that reads a request as Python would, and then runs `script`.
std::string written_python(const test::ScratchFolder& folder, const std::string& script) {
    auto path = folder.write("python", "#!/bin/sh\nread request\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
}

TEST(TemplateProcess, HasNoSignalMaskOfItsParent) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &all, &before), 0);
    const auto reason = failure(
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", {.seconds = 0.1});
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_THAT(reason, HasSubstr("longer than 0.1 s"));
}

TEST(TemplateProcess, RendersAgainAfterAFailure) {
    const auto made = chat(
        "{% if messages[0].content == 'slow' %}{% for a in range(99999) %}{% for b in range(99999) %}"
        "{% endfor %}{% endfor %}{% endif %}{{ messages[0].content }}");
    TemplateProcess process{made, {.seconds = 0.1}};
    const auto message = [](const std::string& content) {
        return request(R"([{"role": "user", "content": ")" + content + R"("}])");
    };
    EXPECT_EQ(process.render(message("a")).text, "a");
    EXPECT_THAT(deck_error_of([&] { process.render(message("slow")); }), HasSubstr("longer than 0.1 s"));
    EXPECT_EQ(process.render(message("b")).text, "b");
}

TEST(TemplateProcess, IsStartedAgainAfterItsEnd) {
    const test::ScratchFolder folder;
    const auto made = chat("x");
    const auto python = written_python(
        folder,
        "echo '{\"marked\": [false]}'\nread request\nif mkdir \"$(dirname $0)/first\"; then exit; fi\n"
        "echo '{\"text\": \"t\", \"spans\": [], \"excluded\": []}'");
    TemplateProcess process{made, {.pythons = {python}}};
    EXPECT_THAT(deck_error_of([&] { process.render(request(three_messages)); }), HasSubstr("has ended"));
    EXPECT_EQ(process.render(request(three_messages)).text, "t");
}

TEST(TemplateProcess, IsKilledIfItDoesNotAnswer) {
    const test::ScratchFolder folder;
    const auto made = chat("x");
    const auto python = written_python(folder, "echo '{\"marked\": [false]}'\nexec sleep 1000");
    TemplateProcess process{made, {.pythons = {python}, .max_wait_seconds = 0.2}};
    EXPECT_THAT(deck_error_of([&] { process.render(request(three_messages)); }),
                HasSubstr("longer than 0.2 s"));
}

TEST(TemplateProcess, NamesPythonWithoutJinja) {
    const auto made = chat("x");
    const auto reason = [&](const std::string& python) -> std::string {
        try {
            const TemplateProcess process{made, {.pythons = {python}}};
        } catch (const Error& error) {
            return error.kind() == ErrorKind::resource ? error.what() : "";
        }
        return "";
    };
    EXPECT_THAT(reason("no-such-python"), AllOf(HasSubstr("'no-such-python'"), HasSubstr("ZIGGURAT_PYTHON"),
                                                HasSubstr("apt-get install python3-jinja2")));
    EXPECT_THAT(reason("/bin/true"), HasSubstr("it ends without an answer"));
    const test::ScratchFolder folder;
    const auto python =
        folder.write("python", "#!/bin/sh\necho '{\"missing\": \"No module named jinja2\"}'\n");
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    EXPECT_THAT(reason(python), HasSubstr("it has no jinja2 3.1: No module named jinja2"));
    TemplateEngine engine;
    engine.pythons.insert(engine.pythons.begin(), {"no-such-python", python});
    TemplateProcess process{made, engine};
    EXPECT_EQ(process.render(request(three_messages)).text, "x");
}

}  // namespace
}  // namespace ziggurat::data
