#include "data/chat/chat_encoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/data/token_files.hpp"
#include "tests/unit/data/tokenizer_files.hpp"

namespace ziggurat::data {
namespace {

using spec::LossOn;
using test::added_token;
using test::deck_error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int32_t end_of_turn = 257;

const std::string chatml =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
const std::string marked_chatml =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% generation %}{{ m.content }}<|im_end|>"
    "{% endgeneration %}{{ '\n' }}{% endfor %}";
const std::string four_messages =
    R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "one"},)"
    R"( {"role": "user", "content": "r"}, {"role": "assistant", "content": "two\n"}]})";

class ChatEncoding : public ::testing::Test {
  protected:
    ChatEncoding() {
        auto json = test::tokenizer_json({});
        json["added_tokens"] = {added_token(256, "<|im_start|>"), added_token(end_of_turn, "<|im_end|>"),
                                added_token(258, "<|endoftext|>"), added_token(259, "<s>")};
        folder_.write("tokenizer_config.json", R"({"eos_token": "<|endoftext|>", "bos_token": "<s>"})");
        tokenizer_ = open_tokenizer(folder_.write("tokenizer.json", json.dump()));
    }

    std::vector<EncodedSample> encode_all(const std::string& text,
                                          const std::string& record,
                                          LossOn loss_on) {
        ChatTemplate chat;
        chat.text = text;
        chat.path = "own.jinja";
        return ChatEncoder{*tokenizer_, &chat, "", {}, loss_on}.encode(record);
    }

    EncodedSample encode(const std::string& text, const std::string& record, LossOn loss_on) {
        const auto samples = encode_all(text, record, loss_on);
        EXPECT_EQ(samples.size(), 1U);
        return samples.front();
    }

    std::string counted(const std::string& text, const std::string& record, LossOn loss_on) {
        return marked_text(encode(text, record, loss_on));
    }

    /// Returns the same of a chosen and a rejected answer.
    std::vector<std::string> counted_answers(const std::string& text,
                                             const std::string& record,
                                             LossOn loss_on) {
        std::vector<std::string> answers;
        for (const auto& sample : encode_all(text, record, loss_on)) {
            answers.push_back(marked_text(sample));
        }
        return answers;
    }

    /// Returns the text of the tokens that count, in brackets for each range of them.
    std::string marked_text(const EncodedSample& sample) {
        std::string all;
        for (std::size_t i = 0; i < sample.ids.size(); ++i) {
            const bool begins = sample.counts[i] == 1 && (i == 0 || sample.counts[i - 1] == 0);
            const bool ends =
                sample.counts[i] == 1 && (i + 1 == sample.ids.size() || sample.counts[i + 1] == 0);
            std::string token;
            tokenizer_->decode(std::span{&sample.ids[i], 1}, token);
            all += (begins ? "[" : "") + token + (ends ? "]" : "");
        }
        return all;
    }

    test::ScratchFolder folder_;
    std::unique_ptr<const TextTokenizer> tokenizer_;
};

TEST_F(ChatEncoding, CountsTurnsUpToTheirEndTokens) {
    EXPECT_EQ(counted(chatml, four_messages, LossOn::assistant),
              "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n[one<|im_end|>]\n"
              "<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\n[two\n<|im_end|>]\n");
    EXPECT_EQ(counted(chatml, four_messages, LossOn::completion),
              "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\none<|im_end|>\n"
              "<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\n[two\n<|im_end|>]\n");
    EXPECT_EQ(counted(chatml, four_messages, LossOn::all),
              "<|im_start|>[user\nq<|im_end|>\n<|im_start|>assistant\none<|im_end|>\n"
              "<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\ntwo\n<|im_end|>\n]");
}

TEST_F(ChatEncoding, KeepsWhiteSpaceOfTurnsWithoutAnEndToken) {
    const std::string plain =
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}";
    EXPECT_EQ(counted(plain, four_messages, LossOn::assistant),
              "user: q\nassistant: [one\n]user: r\nassistant: [two\n\n]");
}

TEST_F(ChatEncoding, CountsGenerationBlocks) {
    const std::string with_users =
        "<|im_start|>user\n[q<|im_end|>]\n<|im_start|>assistant\n[one<|im_end|>]\n";
    EXPECT_EQ(counted(marked_chatml, four_messages, LossOn::assistant),
              with_users + "<|im_start|>user\n[r<|im_end|>]\n<|im_start|>assistant\n[two\n<|im_end|>]\n");
    EXPECT_EQ(counted(marked_chatml, four_messages, LossOn::completion),
              "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\none<|im_end|>\n"
              "<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\n[two\n<|im_end|>]\n");
}

TEST_F(ChatEncoding, CountsTheCompletionOfAPair) {
    const std::string pair =
        R"({"prompt": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "no"},)"
        R"( {"role": "user", "content": "r"}], "completion": [{"role": "assistant", "content": "call"},)"
        R"( {"role": "tool", "content": "5"}, {"role": "assistant", "content": "yes"}]})";
    const std::string prompt =
        "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\nno<|im_end|>\n<|im_start|>user\nr<|im_end|>\n"
        "<|im_start|>assistant\n";
    EXPECT_EQ(
        counted(chatml, pair, LossOn::assistant),
        prompt + "[call<|im_end|>]\n<|im_start|>tool\n5<|im_end|>\n<|im_start|>assistant\n[yes<|im_end|>]\n");
    EXPECT_EQ(
        counted(chatml, pair, LossOn::completion),
        prompt + "[call<|im_end|>\n<|im_start|>tool\n5<|im_end|>\n<|im_start|>assistant\nyes<|im_end|>]\n");
}

TEST_F(ChatEncoding, EndsTextsWithTheDocumentToken) {
    EXPECT_EQ(counted("", R"({"prompt": "ab", "completion": "cd"})", LossOn::assistant),
              "ab[cd<|endoftext|>]");
    EXPECT_EQ(counted("", R"({"prompt": "ab", "completion": "cd"})", LossOn::all), "a[bcd<|endoftext|>]");
    EXPECT_EQ(counted("", R"({"text": "abc"})", LossOn::completion), "a[bc<|endoftext|>]");
    EXPECT_EQ(counted("", R"({"text": "abc<|endoftext|>"})", LossOn::completion), "a[bc<|endoftext|>]");
}

const std::string tool_preference =
    R"({"prompt": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "no"},)"
    R"( {"role": "user", "content": "r"}], "chosen": [{"role": "assistant", "content": "call"},)"
    R"( {"role": "tool", "content": "5"}, {"role": "assistant", "content": "yes"}],)"
    R"( "rejected": {"role": "assistant", "content": "bad"}})";

TEST_F(ChatEncoding, CountsTheTurnsOfAnAnswerAndNeverThePrompt) {
    const std::string prompt =
        "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\nno<|im_end|>\n<|im_start|>user\nr<|im_end|>\n"
        "<|im_start|>assistant\n";
    for (const auto loss_on : {LossOn::assistant, LossOn::completion}) {
        EXPECT_THAT(counted_answers(chatml, tool_preference, loss_on),
                    ElementsAre(prompt + "[call<|im_end|>]\n<|im_start|>tool\n5<|im_end|>\n"
                                         "<|im_start|>assistant\n[yes<|im_end|>]\n",
                                prompt + "[bad<|im_end|>]\n"));
        EXPECT_THAT(counted_answers(marked_chatml, tool_preference, loss_on).back(),
                    HasSubstr("<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\n[bad<|im_end|>]\n"));
    }
}

TEST_F(ChatEncoding, CountsAllTokensOfAnAnswerEvenOutsideOfGenerationBlocks) {
    const std::string with_blocks =
        "{% for m in messages %}<|im_start|>{{ m.role }}\n>{% generation %}{{ m.content }}"
        "{% endgeneration %}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% "
        "endif %}";
    EXPECT_THAT(counted_answers(chatml, tool_preference, LossOn::all).back(),
                HasSubstr("r<|im_end|>\n<|im_start|>assistant\n[bad<|im_end|>\n]"));
    EXPECT_THAT(
        counted_answers(with_blocks, tool_preference, LossOn::all),
        ElementsAre("<|im_start|>user\n>q<|im_end|><|im_start|>assistant\n>no<|im_end|><|im_start|>user\n>r"
                    "<|im_end|><|im_start|>assistant\n[>call<|im_end|><|im_start|>tool\n>5<|im_end|>"
                    "<|im_start|>assistant\n>yes<|im_end|>]",
                    "<|im_start|>user\n>q<|im_end|><|im_start|>assistant\n>no<|im_end|><|im_start|>user\n>r"
                    "<|im_end|><|im_start|>assistant\n[>bad<|im_end|>]"));
    EXPECT_THAT(counted_answers(with_blocks, tool_preference, LossOn::assistant).back(),
                HasSubstr(">[bad]<|im_end|>"));
}

TEST_F(ChatEncoding, CountsTheAnswersOfATextAndItsEnd) {
    for (const auto loss_on : {LossOn::assistant, LossOn::completion, LossOn::all}) {
        EXPECT_THAT(counted_answers("", R"({"prompt": "ab", "chosen": "cd", "rejected": "c"})", loss_on),
                    ElementsAre("ab[cd<|endoftext|>]", "ab[c<|endoftext|>]"));
        EXPECT_THAT(counted_answers("", R"({"chosen": "is cd", "rejected": "is ce"})", loss_on),
                    ElementsAre("is[ cd<|endoftext|>]", "is[ ce<|endoftext|>]"));
    }
}

TEST_F(ChatEncoding, RefusesAnswersThatAreEqualOrDoNotCount) {
    const auto error_of = [&](const std::string& record, LossOn loss_on = LossOn::assistant) {
        return deck_error_of([&] { encode_all(chatml, record, loss_on); });
    };
    EXPECT_THAT(error_of(R"({"prompt": "ab", "chosen": "cd", "rejected": "cd"})"), HasSubstr("are equal"));
    EXPECT_THAT(
        error_of(R"({"instruction": "q", "chosen": "a", "rejected": {"role": "assistant", "content": "a"}})"),
        HasSubstr("are equal"));
    EXPECT_THAT(
        error_of(R"({"instruction": "q", "chosen": "a", "rejected": {"role": "user", "content": "a"}})"),
        HasSubstr("the answer has no message of an assistant"));
    const std::string silent =
        "{% for m in messages %}{{ m.role }}{% generation %}{% if m.content != 'b' %}{{ m.content }}{% endif "
        "%}"
        "{% endgeneration %}{% endfor %}";
    EXPECT_THAT(deck_error_of([&] {
                    encode_all(silent, R"({"instruction": "q", "chosen": "a", "rejected": "b"})",
                               LossOn::assistant);
                }),
                HasSubstr("no token of the rejected answer counts in the loss"));
    EXPECT_THAT(error_of(R"({"prompt": "", "chosen": "", "rejected": "b"})"),
                HasSubstr("a preference with an answer of 1 token"));
}

/// Four messages, the first answer of which has `field`.
std::string with_field(const std::string& field) {
    return R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "one", )" +
           field + R"(}, {"role": "user", "content": "r"}, {"role": "assistant", "content": "two"}]})";
}

TEST_F(ChatEncoding, OmitsMessagesThatTheirFieldsExclude) {
    const std::string before = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\none<|im_end|>\n";
    const std::string after = "<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\n[two<|im_end|>]\n";
    for (const char* field :
         {R"("weight": 0)", R"("train": false)", R"("trainable": false)", R"("loss": false)"}) {
        EXPECT_EQ(counted(chatml, with_field(field), LossOn::assistant), before + after) << field;
        EXPECT_EQ(counted(chatml, with_field(field), LossOn::completion), before + after) << field;
        EXPECT_EQ(counted(chatml, with_field(field), LossOn::all),
                  "<|im_start|>[user\nq<|im_end|>\n]<|im_start|>assistant\none<|im_end|>\n"
                  "[<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\ntwo<|im_end|>\n]")
            << field;
        const auto marked = counted(marked_chatml, with_field(field), LossOn::assistant);
        EXPECT_THAT(marked, HasSubstr("assistant\none<|im_end|>\n")) << field;
        EXPECT_THAT(marked, HasSubstr("assistant\n[two<|im_end|>]")) << field;
    }
    EXPECT_EQ(counted(chatml, with_field(R"("weight": 1)"), LossOn::assistant),
              counted(chatml, with_field(R"("x": 1)"), LossOn::assistant));
}

TEST_F(ChatEncoding, OmitsExcludedTurnsOfShareGptPairsAndPreferences) {
    EXPECT_EQ(counted(chatml, R"({"conversations": [{"from": "human", "value": "q"},
                      {"from": "gpt", "value": "one", "weight": 0}, {"from": "gpt", "value": "two"}]})",
                      LossOn::assistant),
              "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\none<|im_end|>\n"
              "<|im_start|>assistant\n[two<|im_end|>]\n");
    const std::string messages = R"([{"role": "assistant", "content": "one", "train": false},
                                     {"role": "user", "content": "r"}, {"role": "assistant", "content": "two"}])";
    const std::string prompt = R"({"prompt": [{"role": "user", "content": "q"}], )";
    const std::string before = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\none<|im_end|>\n";
    EXPECT_EQ(counted(chatml, prompt + "\"completion\": " + messages + "}", LossOn::assistant),
              before + "<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\n[two<|im_end|>]\n");
    EXPECT_EQ(counted(chatml, prompt + "\"completion\": " + messages + "}", LossOn::completion),
              before + "[<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\ntwo<|im_end|>]\n");
    const auto preference = prompt + "\"chosen\": " + messages + R"(, "rejected": "bad"})";
    EXPECT_EQ(counted_answers(chatml, preference, LossOn::assistant).front(),
              before + "<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\n[two<|im_end|>]\n");
    EXPECT_EQ(counted_answers(chatml, preference, LossOn::all).front(),
              before + "[<|im_start|>user\nr<|im_end|>\n<|im_start|>assistant\ntwo<|im_end|>\n]");
}

TEST_F(ChatEncoding, CountsTheLastMessageOnlyIfTheRecordAsks) {
    const auto record = R"({"only_last": true, )" + four_messages.substr(1);
    EXPECT_EQ(counted(chatml, record, LossOn::assistant), counted(chatml, four_messages, LossOn::completion));
    EXPECT_EQ(counted(chatml, R"({"only_last": false, )" + four_messages.substr(1), LossOn::assistant),
              counted(chatml, four_messages, LossOn::assistant));
}

TEST_F(ChatEncoding, RefusesFieldsThatItCannotFollow) {
    const auto error_of = [&](const std::string& record, LossOn loss_on = LossOn::assistant) {
        return deck_error_of([&] { encode_all(chatml, record, loss_on); });
    };
    EXPECT_THAT(error_of(R"({"messages": [{"role": "user", "content": "q", "train": true},
                                          {"role": "assistant", "content": "a"}]})"),
                HasSubstr("message 1 (counted from 1) has 'train' and is not of an assistant"));
    EXPECT_EQ(error_of(R"({"messages": [{"role": "user", "content": "q", "weight": 1},
                                        {"role": "assistant", "content": "a", "weight": 1}]})"),
              "");
    EXPECT_THAT(error_of(R"({"messages": [{"role": "user", "content": "q"},
                                          {"role": "assistant", "content": "a", "weight": 0}]})"),
                HasSubstr("its fields, such as weight 0, exclude all"));
    const auto last_excluded =
        R"({"messages": [{"role": "assistant", "content": "a"}, {"role": "user", "content": "q"},
                                  {"role": "assistant", "content": "b", "weight": 0}]})";
    EXPECT_THAT(error_of(last_excluded, LossOn::completion), HasSubstr("exclude all"));
    EXPECT_EQ(error_of(last_excluded), "");
}

const std::string qwen =
    "{% if messages[0].role == 'system' %}<|im_start|>system\n{{ messages[0].content }}<|im_end|>\n{% else %}"
    "<|im_start|>system\nDefault.<|im_end|>\n{% endif %}{% for m in messages %}"
    "{% if m.role != 'system' or not loop.first %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% "
    "endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

TEST_F(ChatEncoding, CountsAFirstMessageOfAnAssistant) {
    const std::string record = R"({"messages": [{"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "q"}, {"role": "assistant", "content": "one"}]})";
    const std::string rest =
        "<|im_start|>assistant\n[Hi<|im_end|>]\n<|im_start|>user\nq<|im_end|>\n"
        "<|im_start|>assistant\n[one<|im_end|>]\n";
    EXPECT_EQ(counted(qwen, record, LossOn::assistant), "<|im_start|>system\nDefault.<|im_end|>\n" + rest);
    EXPECT_EQ(counted(chatml, record, LossOn::assistant), rest);
    const std::string in_loop =
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
        "{% if loop.last and add_generation_prompt %}<|im_start|>assistant\n{% endif %}{% endfor %}";
    EXPECT_EQ(counted(in_loop, record, LossOn::assistant), rest)
        << "the generation prompt is missing without messages";
}

TEST_F(ChatEncoding, RefusesRecordsWithoutATarget) {
    const std::string no_answer = R"({"messages": [{"role": "user", "content": "q"}]})";
    EXPECT_THAT(deck_error_of([&] { encode(chatml, no_answer, LossOn::assistant); }),
                HasSubstr("no message of an assistant"));
    EXPECT_THAT(deck_error_of([&] { encode(chatml, no_answer, LossOn::completion); }),
                HasSubstr("no message"));
    EXPECT_GT(encode(chatml, no_answer, LossOn::all).ids.size(), 2U);
    EXPECT_THAT(deck_error_of([&] { encode("", R"({"text": ""})", LossOn::all); }),
                HasSubstr("a record of 1 token"));
    EXPECT_THAT(
        deck_error_of([&] {
            encode("{% for m in messages %}{{ m.content }}{% generation %}{% endgeneration %}{% endfor %}",
                   four_messages, LossOn::assistant);
        }),
        HasSubstr("no token of the record counts"));
    ChatEncoder without{*tokenizer_, nullptr, "no template here", {}, LossOn::all};
    EXPECT_THROW(without.encode(four_messages), UnusableTemplate);
    EXPECT_EQ(without.span_method(), std::nullopt);
}

}  // namespace
}  // namespace ziggurat::data
