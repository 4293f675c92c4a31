#include "train/generate/text_generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizer/text_tokenizer.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/inference.hpp"

namespace ziggurat::train {
namespace {

spec::RunSpec run_of(const std::string& family, int ranks) {
    return test::tiny_run(family, ranks, 2, 2);
}

TEST(TextGenerator, ReadsTheSecondHalfOfALongTextAgain) {
    const comm::Context& world = test::world();
    auto run = run_of("llama", world.size());
    run.model.vocab = run.model.vocab_padded = 256;
    run.data.seq = run.model.max_seq = 20;
    run.validate.sample = spec::Sample{.prompt = "beginning", .tokens = 40, .temperature = 0};
    const auto tokenizer = data::open_tokenizer(spec::Tokenizer{});
    test::TinyHooks hooks;
    hooks.begin = [&](Assembly& assembly) {
        const auto prompt = encode_prompt(*tokenizer, run.data.add_bos, run.validate.sample->prompt);
        const TextSettings settings{.tokens = 40, .drawing = {.temperature = 0}};
        TextGenerator generator{run, assembly, *tokenizer, settings};
        std::optional<GeneratedText> whole;
        generator.generate({&prompt, 1}, 1, [&](auto, auto, GeneratedText text) { whole = text; });
        EXPECT_EQ(whole->tokens, 40);
        EXPECT_EQ(whole->end, TextEnd::length);
        const auto& times = generator.times();
        EXPECT_EQ(times.prompt_tokens, 9);
        EXPECT_EQ(times.prompts.tokens, 8) << "the last token of the prompt is read with logits";
        EXPECT_EQ(times.again.tokens, 3 * 9);
        EXPECT_EQ(times.made.tokens, 40);
        // The cache is full with tokens 0 to 19, which predict token 20. Then it has only tokens 11 to 20.
        const auto text = run.validate.sample->prompt + whole->text;
        for (const std::size_t last : {20, 31}) {
            const spec::Sample next{.prompt = text.substr(last - 9, 10), .tokens = 10, .temperature = 0};
            const auto end = encode_prompt(*tokenizer, run.data.add_bos, next.prompt);
            EXPECT_EQ(generate_text(run, assembly, *tokenizer, next, end, 0)->text,
                      text.substr(last + 1, 10));
        }
        return run.train.steps;
    };
    test::train_tiny(run, world, test::Keep::nothing, {}, hooks);
}

TEST(TextGenerator, EndsBeforeAnEndToken) {
    const comm::Context& world = test::world();
    auto run = run_of("llama", world.size());
    run.model.vocab = run.model.vocab_padded = 256;
    run.validate.sample = spec::Sample{.prompt = "beginning", .tokens = 12, .temperature = 2};
    const auto tokenizer = data::open_tokenizer(spec::Tokenizer{});
    test::TinyHooks hooks;
    hooks.begin = [&](Assembly& assembly) {
        const auto& sample = *run.validate.sample;
        const auto begin = encode_prompt(*tokenizer, run.data.add_bos, sample.prompt);
        const auto whole = generate_text(run, assembly, *tokenizer, sample, begin, 0)->text;
        for (const std::size_t last : {0, 5, 11}) {
            auto prompt = encode_prompt(*tokenizer, run.data.add_bos, sample.prompt);
            prompt.end_tokens = {static_cast<unsigned char>(whole[last])};
            const TextSettings settings{.tokens = 12, .drawing = {.temperature = 2}};
            TextGenerator generator{run, assembly, *tokenizer, settings};
            GeneratedText ended;
            generator.generate({&prompt, 1}, 1, [&](auto, auto, GeneratedText text) { ended = text; });
            const auto length = whole.find(whole[last]);
            EXPECT_EQ(ended.text, whole.substr(0, length));
            EXPECT_EQ(ended.tokens, static_cast<std::int64_t>(length) + 1);
            EXPECT_EQ(ended.end, TextEnd::end_token);
        }
        return run.train.steps;
    };
    test::train_tiny(run, world, test::Keep::nothing, {}, hooks);
}

/// Texts by prompt and answer.
using Texts = std::map<std::pair<std::int64_t, std::int64_t>, std::string>;

/// Texts of a model with its initial weights. Every bit of its logits counts at this temperature.
class Generation {
  public:
    Generation(const std::string& family, spec::DType compute, const comm::Context& world)
        : world_{world}, tokenizer_{data::open_tokenizer(spec::Tokenizer{})} {
        trained_ = test::tiny_run(family, world.size(), 2, 2);
        trained_.model.vocab = trained_.model.vocab_padded = 256;
        trained_.data.seq = trained_.model.max_seq = 150;
        trained_.precision.compute = compute;
    }

    std::vector<TextPrompt> prompts(const std::vector<std::string>& texts) const {
        std::vector<TextPrompt> made;
        for (const auto& text : texts) {
            made.push_back(encode_prompt(*tokenizer_, spec::AddBos::no, text));
            made.back().end_tokens = {'e'};
        }
        return made;
    }

    /// Calls `work` with an inference for prompts of up to `longest` tokens.
    template <class Work>
    void with_inference(spec::RunSpec run, const Work& work) const {
        Inference inference{run, world_, test::processors_for_tests(run.parallel.threads)};
        inference.assembly().set_initial_values();
        work(inference, run);
    }
    spec::RunSpec run_for(std::int64_t longest, std::int64_t texts) const {
        return generating(trained_, {world_.size(), world_.size(), 1}, longest, settings_.tokens, texts);
    }

    Texts texts(const std::vector<std::string>& prompts_, std::int64_t answers) const {
        const auto all = prompts(prompts_);
        std::size_t longest = 0;
        for (const auto& prompt : all) {
            longest = std::max(longest, prompt.tokens.size());
        }
        Texts made;
        const auto texts = std::ssize(all) * answers;
        with_inference(run_for(static_cast<std::int64_t>(longest), texts), [&](Inference& inference,
                                                                               const spec::RunSpec&) {
            inference.generate(*tokenizer_, settings_, all, answers,
                               [&](std::int64_t prompt, std::int64_t answer, GeneratedText text) {
                                   made[{prompt, answer}] = text.text;
                               });
        });
        return made;
    }

    spec::RunSpec& trained() { return trained_; }
    const data::TextTokenizer& tokenizer() const { return *tokenizer_; }
    const TextSettings& settings() const { return settings_; }

  private:
    comm::Context world_;
    std::unique_ptr<const data::TextTokenizer> tokenizer_;
    spec::RunSpec trained_;
    TextSettings settings_{.tokens = 90, .drawing = {.temperature = 0.02}, .ends = {}, .step = 3};
};

class Generated : public ::testing::TestWithParam<std::string> {};

/// Short and long prompts; some of their texts reach the length of the model, and some end early.
const std::vector<std::string> prompt_texts = {"a", std::string(100, 'b') + "c", "What is it?",
                                               std::string(64, 'd'), std::string(170, 'x') + "yz"};

TEST_P(Generated, TextsDoNotDependOnOtherTexts) {
    const comm::Context& world = test::world();
    for (const auto compute : {spec::DType::f32, spec::DType::bf16}) {
        const Generation of{GetParam(), compute, world};
        const auto together = of.texts(prompt_texts, 3);
        std::set<std::string> different;
        for (std::size_t i = 0; i < prompt_texts.size(); ++i) {
            const auto alone = of.texts({prompt_texts[i]}, 3);
            const auto first = of.texts({prompt_texts[i]}, 1);
            const auto prompt = static_cast<std::int64_t>(i);
            EXPECT_EQ(alone.at({0, 0}), first.at({0, 0})) << "prompt " << i;
            for (std::int64_t answer = 0; answer < 3; ++answer) {
                EXPECT_EQ(together.at({prompt, answer}), alone.at({0, answer})) << "prompt " << i;
                different.insert(alone.at({0, answer}));
            }
        }
        EXPECT_GT(different.size(), prompt_texts.size() + 2) << "random numbers have an effect";
    }
}

TEST_P(Generated, AnswersOfAConversationAreThoseOfItsWholeText) {
    const comm::Context& world = test::world();
    const Generation of{GetParam(), spec::DType::bf16, world};
    auto run = of.run_for(100, 1);
    run.cached = conversation_passes(run);
    of.with_inference(run, [&](Inference& inference, const spec::RunSpec& with_prompt) {
        TextGenerator generator{with_prompt, inference.assembly(), of.tokenizer(), of.settings()};
        std::int64_t read = 0;
        for (const auto& text : {std::string(70, 'q'), std::string(70, 'q') + "answer" + std::string(40, 'r'),
                                 std::string(70, 'q') + "other", std::string("new")}) {
            const auto prompt = of.prompts({text}).front();
            std::string shown;
            const auto made = generator.answer(prompt, [&](const GrowingText& growing) {
                const auto stable = growing.stable_text();
                EXPECT_TRUE(stable.starts_with(shown));
                shown = stable;
            });
            EXPECT_EQ(made.text, shown);
            const auto whole = of.texts({text}, 1).at({0, 0});
            // A conversation ends at the length of the model; other texts continue.
            EXPECT_EQ(made.text, whole.substr(0, made.text.size()));
            EXPECT_TRUE(made.text.size() == whole.size() || made.tokens == 151 - std::ssize(text));
            read += std::ssize(text) - 1;
        }
        if (with_prompt.model.window == 0) {
            EXPECT_EQ(generator.times().prompts.tokens, read - 69 - 70)
                << "the common beginnings are read once";
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Families, Generated, ::testing::Values("gpt2", "llama", "gemma3"));

}  // namespace
}  // namespace ziggurat::train
