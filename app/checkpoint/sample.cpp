#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/checkpoint/checkpoint_options.hpp"
#include "app/checkpoint/loaded_weights.hpp"
#include "app/checkpoint/sample_chat.hpp"
#include "app/checkpoint/sample_output.hpp"
#include "app/checkpoint/sample_prompts.hpp"
#include "app/checkpoint/trained_model.hpp"
#include "app/start/tokenizers.hpp"
#include "base/text/printable.hpp"
#include "comm/watch/liveness.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "train/inference.hpp"
#include "train/on_ranks.hpp"

namespace ziggurat::app {
namespace {

/// Time that the other ranks wait for a user's turn: no limit, in effect.
constexpr double max_seconds_of_a_turn = 1e9;

train::TextSettings settings_of(const SampleOptions& options, std::int64_t step) {
    return {.tokens = options.tokens,
            .drawing = {options.temperature, options.top_k, options.top_p},
            .ends = options.ends,
            .step = step};
}

void print(const std::string& text, std::FILE* stream) {
    std::fputs(text.c_str(), stream);
    std::fflush(stream);
}

/// Prints the texts after the prompt of the command line.
void print_texts(const SampleOptions& options, const std::vector<train::GeneratedText>& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto shown = options.is_chat ? texts[i].text : options.prompt + texts[i].text;
        const auto title = texts.size() > 1 ? fmt::format("answer {} of {}:\n", i + 1, texts.size()) : "";
        print(title + printable(shown, Newlines::kept) + "\n", stdout);
    }
}

/// Generates the texts after all prompts, and prints them in order, as soon as they exist.
void answer_prompts(const SampleOptions& options,
                    const comm::Context& world,
                    const TrainedModel& model,
                    const data::TextTokenizer& tokenizer,
                    const SamplePrompts& read,
                    train::Inference& inference,
                    Progress& progress) {
    const bool is_file = !options.prompts.empty();
    const auto settings = settings_of(options, model.step());
    SampleAnswers answers{read.prompts.size(), options.answers};
    if (is_file) {
        progress.begin("generates", "texts", std::ssize(read.prompts) * options.answers);
    }
    const auto add = [&](std::int64_t prompt, std::int64_t answer, train::GeneratedText text) {
        answers.add(prompt, answer, std::move(text));
        if (is_file) {
            progress.advance(1);
        }
        while (const auto next = is_file && world.rank() == 0 ? answers.next() : std::nullopt) {
            print(answer_line(read.records[*next], answers.of(*next)), stdout);
        }
    };
    const auto times = inference.generate(tokenizer, settings, read.prompts, options.answers, add);
    progress.end();
    if (world.rank() == 0) {
        print(fmt::format("by {}, step {}: {}\n", printable(model.path()), model.step(),
                          speed_of(times, read.prompts.size())),
              stderr);
        if (!is_file) {
            print_texts(options, answers.of(0));
        }
    }
}

/// Answers the turns of a user; see SampleChat.
std::optional<int> converse(const SampleOptions& options, const comm::Context& world, TrainedModel& model) {
    int exit_code = 0;
    std::unique_ptr<const data::TextTokenizer> tokenizer;
    std::unique_ptr<data::ChatPrompts> prompts;
    const auto open = [&] {
        tokenizer = open_tokenizer_of(model.run, options.tokenizer, model.path());
        set_cache_home(model.run, options.kv_cache);
    };
    const auto open_on_first = [&] {
        open();
        prompts = chat_prompts_of(options, model.run, *tokenizer);
        print_tokenizer_notes(*tokenizer, spec::AddBos::no);
    };
    if (!is_agreed(world, exit_code, open_on_first)) {
        return exit_code;
    }
    if (!tokenizer) {  // on all ranks except rank 0
        open();
    }
    model.run.run.seed = options.seed.value_or(model.run.run.seed);
    auto run = train::generating(model.run, model.here, 1, options.tokens);
    run.cached = train::conversation_passes(run);
    set_compute(run, options.compute);
    return with_weights(model, run, world, [&](train::Inference& inference, Progress& progress) {
        progress.end();
        world.liveness()->set_hang_timeout(max_seconds_of_a_turn);
        std::optional<SampleChat> chat;
        if (world.rank() == 0) {
            print(fmt::format("{}, step {}\n", printable(model.path()), model.step()), stderr);
            chat.emplace(options, run, *tokenizer, *prompts);
        }
        const auto settings = settings_of(options, model.step());
        return inference.converse(*tokenizer, settings, [&](train::TextGenerator& generator) {
            return hold_conversation(world, chat ? &*chat : nullptr, generator);
        });
    });
}

std::optional<int> sample_model(const SampleOptions& options,
                                const comm::Context& world,
                                TrainedModel& model) {
    int exit_code = 0;
    std::unique_ptr<const data::TextTokenizer> tokenizer;
    SamplePrompts read;
    model.run.data.add_bos = add_bos_of(options.add_bos, model.run.data.add_bos);
    const auto open = [&] {
        tokenizer = open_tokenizer_of(model.run, options.tokenizer, model.path());
        set_cache_home(model.run, options.kv_cache);
    };
    const auto open_and_read = [&] {
        open();
        read = read_sample_prompts(options, model.run, *tokenizer);
    };
    if (!is_agreed(world, exit_code, open_and_read)) {
        return exit_code;
    }
    if (!tokenizer) {  // on all ranks except rank 0
        open();
    }
    read.prompts = shared_prompts(world, std::move(read.prompts));
    std::size_t longest = 0;
    for (const auto& prompt : read.prompts) {
        longest = std::max(longest, prompt.tokens.size());
    }
    model.run.run.seed = options.seed.value_or(model.run.run.seed);
    auto run = train::generating(model.run, model.here, static_cast<std::int64_t>(longest), options.tokens,
                                 std::ssize(read.prompts) * options.answers);
    set_compute(run, options.compute);
    return with_weights(model, run, world, [&](train::Inference& inference, Progress& progress) {
        progress.end();
        answer_prompts(options, world, model, *tokenizer, read, inference, progress);
        return 0;
    });
}

}  // namespace

int sample(const SampleOptions& options) {
    const bool has_prompt = !options.prompt.empty() || !options.prompts.empty();
    return train::on_ranks([&](const comm::Context& world) {
        return with_trained_model(options, world, [&](TrainedModel& model) {
            return has_prompt ? sample_model(options, world, model) : converse(options, world, model);
        });
    });
}

}  // namespace ziggurat::app
