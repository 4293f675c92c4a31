#include "data/chat/preference_record.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using ::testing::HasSubstr;

/// Returns `prompt|chosen|rejected`: roles and contents of messages, or texts.
std::string answers_of(const std::string& record) {
    const auto answers = parse_chat_records(record);
    EXPECT_EQ(answers.size(), 2U);
    std::vector<std::string> prompts, rests;
    for (const auto& answer : answers) {
        EXPECT_TRUE(answer.is_answer);
        if (answer.kind == RecordKind::plain_pair) {
            prompts.push_back(answer.prompt);
            rests.push_back(answer.text);
            continue;
        }
        EXPECT_EQ(answer.kind, RecordKind::conversation);
        std::string parts[2];
        for (std::size_t i = 0; i < answer.messages.size(); ++i) {
            parts[static_cast<std::int64_t>(i) < answer.prompt_messages ? 0 : 1] +=
                fmt::format("<{}>{}", answer.messages[i]["role"].get<std::string>(),
                            answer.messages[i]["content"].get<std::string>());
        }
        prompts.push_back(parts[0]);
        rests.push_back(parts[1]);
    }
    EXPECT_EQ(prompts[0], prompts[1]);
    return prompts[0] + "|" + rests[0] + "|" + rests[1];
}

std::string mismatch(const std::string& record) {
    return deck_error_of([&] { parse_chat_records(record); });
}

TEST(PreferenceRecord, HasAPromptAndAnswers) {
    EXPECT_EQ(answers_of(R"({"prompt": "The sky is", "chosen": " blue.", "rejected": " green."})"),
              "The sky is| blue.| green.");
    EXPECT_EQ(answers_of(R"({"prompt": [{"role": "user", "content": "q"}],
                             "chosen": [{"role": "assistant", "content": "a"}],
                             "rejected": [{"role": "assistant", "content": "b"}, {"role": "user", "content": "c"},
                                          {"role": "assistant", "content": "d"}]})"),
              "<user>q|<assistant>a|<assistant>b<user>c<assistant>d");
}

TEST(PreferenceRecord, ReadsTheFormatsOfLlamaFactory) {
    EXPECT_EQ(answers_of(R"({"conversations": [{"from": "human", "value": "q"}], "system": "s",
                             "chosen": {"from": "gpt", "value": "a"}, "rejected": {"from": "gpt", "value": "b"}})"),
              "<system>s<user>q|<assistant>a|<assistant>b");
    EXPECT_EQ(answers_of(R"({"messages": [{"role": "user", "content": "q"}],
                             "chosen": {"role": "assistant", "content": "a"}, "rejected": "b"})"),
              "<user>q|<assistant>a|<assistant>b");
    EXPECT_EQ(answers_of(R"({"instruction": "q", "input": "x", "history": [["h", "i"]], "output": "unused",
                             "chosen": "a", "rejected": "b"})"),
              "<user>h<assistant>i<user>q\nx|<assistant>a|<assistant>b");
    const auto answers = parse_chat_records(
        R"({"messages": [{"role": "user", "content": "q"}], "tools": [{"name": "f"}], "chosen": "a", "rejected": "b"})");
    EXPECT_TRUE(answers[0].has_tools && answers[1].has_tools);
}

TEST(PreferenceRecord, TakesTheCommonBeginningOfWholeMessages) {
    const std::string whole =
        R"("chosen": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
           "rejected": [{"content": "q", "role": "user"}, {"role": "assistant", "content": "b"}]})";
    EXPECT_EQ(answers_of("{" + whole), "<user>q|<assistant>a|<assistant>b");
    EXPECT_EQ(answers_of(R"({"prompt": "q", )" + whole), "<user>q|<assistant>a|<assistant>b");
    EXPECT_EQ(answers_of(R"({"messages": [{"role": "user", "content": "unused"}], )" + whole),
              "<user>q|<assistant>a|<assistant>b");
    EXPECT_EQ(
        answers_of(R"({"chosen": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
                             "rejected": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"},
                                          {"role": "user", "content": "r"}, {"role": "assistant", "content": "b"}]})"),
        "<user>q|<assistant>a|<assistant>a<user>r<assistant>b")
        << "each answer has a message";
}

TEST(PreferenceRecord, ReadsTheFormatsOfOpenAiAndAxolotl) {
    const std::string input =
        R"({"input": {"messages": [{"role": "user", "content": "q"}], "tools": [{"name": "f"}]},)";
    const std::string outputs = R"( "preferred_output": [{"role": "assistant", "content": "a"}],
            "non_preferred_output": [{"role": "assistant", "content": "b"}]})";
    EXPECT_EQ(answers_of(input + outputs), "<user>q|<assistant>a|<assistant>b");
    EXPECT_TRUE(parse_chat_records(input + outputs).front().has_tools);
    EXPECT_EQ(answers_of(R"({"system": "s", "question": "q", "chosen": "a", "rejected": "b"})"),
              "<system>s<user>q|<assistant>a|<assistant>b");
    EXPECT_EQ(answers_of(R"({"input": "q", "chosen": "a", "rejected": "b"})"),
              "<user>q|<assistant>a|<assistant>b");
    EXPECT_EQ(answers_of(R"({"prompt": "q", "chosen": [{"role": "assistant", "content": "a"}],
                             "rejected": [{"role": "assistant", "content": "b"}]})"),
              "<user>q|<assistant>a|<assistant>b");
    EXPECT_EQ(answers_of(R"({"messages": [{"role": "user", "content": "q"}],
                             "chosen": [{"role": "assistant", "content": "a"}],
                             "rejected": [{"role": "assistant", "content": "b"}]})"),
              "<user>q|<assistant>a|<assistant>b");
}

TEST(PreferenceRecord, KeepsTheSystemMessage) {
    const std::string answers = R"( "chosen": "a", "rejected": "b"})";
    const std::string question = R"([{"role": "user", "content": "q"}],)";
    for (const char* key : {"prompt", "messages", "conversations"}) {
        EXPECT_EQ(answers_of(std::string{R"({"system": "s", ")"} + key + "\": " + question + answers),
                  "<system>s<user>q|<assistant>a|<assistant>b");
    }
    EXPECT_EQ(answers_of(R"({"system": "s", "chosen": [{"role": "user", "content": "q"},
                             {"role": "assistant", "content": "a"}], "rejected": [{"role": "user", "content": "q"},
                             {"role": "assistant", "content": "b"}]})"),
              "<system>s<user>q|<assistant>a|<assistant>b");
    EXPECT_THAT(mismatch(R"({"system": "s", "prompt": "q",)" + answers),
                HasSubstr("the record has a 'system'"));
    EXPECT_THAT(mismatch(R"({"system": "s",)" + answers), HasSubstr("the record has a 'system'"));
    EXPECT_EQ(answers_of(R"({"system": "", "prompt": "q",)" + answers), "q|a|b");
    EXPECT_EQ(answers_of(R"({"system": "be", "prompt": "be so. q",)" + answers), "be so. q|a|b")
        << "the text contains it";
}

TEST(PreferenceRecord, NamesUnusedFields) {
    const auto unused = [](const std::string& record) {
        return parse_chat_records(record).front().unused_fields;
    };
    const std::string whole =
        R"("chosen": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
           "rejected": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "b"}]})";
    using ::testing::ElementsAre;
    using ::testing::IsEmpty;
    EXPECT_THAT(unused(R"({"prompt": "q", "score_chosen": 3, )" + whole), ElementsAre("score_chosen"));
    EXPECT_THAT(unused(R"({"prompt": "other", )" + whole), ElementsAre("prompt"));
    EXPECT_THAT(unused(R"({"messages": [{"role": "user", "content": "q"}], )" + whole), IsEmpty());
    EXPECT_THAT(unused(R"({"messages": [{"role": "user", "content": "r"}], )" + whole),
                ElementsAre("messages"));
    EXPECT_THAT(unused(R"({"instruction": "q", "output": "o", "chosen": "a", "rejected": "b", "id": null})"),
                ElementsAre("output"));
}

TEST(PreferenceRecord, TakesTheCommonBeginningOfWholeTexts) {
    const auto split = [](const std::string& chosen, const std::string& rejected) {
        return answers_of(fmt::format(R"({{"chosen": "{}", "rejected": "{}"}})", chosen, rejected));
    };
    EXPECT_EQ(split("The sky is blue.", "The sky is green."), "The sky is| blue.| green.");
    EXPECT_EQ(split("The sky is blue.", "The sky is black."), "The sky is| blue.| black.");
    EXPECT_EQ(split("Q:\\n\\nyes", "Q:\\n\\nno"), "Q:\n|\nyes|\nno");
    EXPECT_EQ(split("It is so", "It is so and so"), "It is| so| so and so");
    EXPECT_EQ(split("yes", "yet"), "|yes|yet");
    EXPECT_EQ(split("\xc3\xa4 \xc3\xa4", "\xc3\xa4 \xc3\xb6"), "\xc3\xa4| \xc3\xa4| \xc3\xb6")
        << "not within a character";
}

TEST(PreferenceRecord, IsRefusedWithTheNameOfTheBadField) {
    EXPECT_THAT(mismatch(R"({"prompt": "q", "chosen": "a", "rejected": ["b"]})"),
                HasSubstr("'rejected' is not a text"));
    EXPECT_THAT(mismatch(R"({"prompt": [{"role": "user", "content": "q"}], "chosen": 3, "rejected": "b"})"),
                HasSubstr("'chosen' is not a text, a message or a list of messages"));
    EXPECT_THAT(mismatch(R"({"chosen": [{"role": "user", "content": "q"}], "rejected": []})"),
                HasSubstr("has a chosen answer and no rejected one"));
    EXPECT_THAT(
        mismatch(R"({"instruction": "q", "chosen": {"from": "alien", "value": "a"}, "rejected": "b"})"),
        HasSubstr("field 'chosen' is from 'alien'"));
    EXPECT_THAT(mismatch(R"({"instruction": "q", "chosen": "a", "rejected": [{"content": "b"}]})"),
                HasSubstr("rejected[0] has no text 'role'"));
    EXPECT_THAT(
        mismatch(R"({"chosen": [{"role": "assistant", "content": "a"}, {"role": "user", "content": "q"}],
                             "rejected": [{"role": "assistant", "content": "b"}, {"role": "user", "content": "q"}]})"),
        HasSubstr("do not begin with the same message"));
    EXPECT_THAT(mismatch(R"({"chosen": "a", "rejected": 3})"), HasSubstr("'rejected' is not a text"));
    EXPECT_EQ(
        parse_chat_records(R"({"prompt": "q", "completion": "a", "chosen": "a", "rejected": null})").size(),
        1U);
}

}  // namespace
}  // namespace ziggurat::data
