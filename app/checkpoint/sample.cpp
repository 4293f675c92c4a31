#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/checkpoint/checkpoint_options.hpp"
#include "app/checkpoint/loaded_weights.hpp"
#include "app/checkpoint/trained_model.hpp"
#include "app/start/tokenizers.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "comm/control.hpp"
#include "data/chat/answer_ends.hpp"
#include "data/chat/chat_prompt.hpp"
#include "data/chat/template_engine.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "train/inference.hpp"
#include "train/on_ranks.hpp"

namespace ziggurat::app {
namespace {

/// Returns the number of tokens of the prompt.
/// Errors: Error{deck} if a token is outside of the model's vocabulary
std::int64_t expect_rows_for(const std::string& prompt,
                             const data::TextTokenizer& tokenizer,
                             spec::AddBos add_bos,
                             std::int64_t vocab) {
    std::vector<std::int32_t> ids;
    data::encode_whole_text(tokenizer, add_bos, prompt, ids);
    if (const auto largest = std::ranges::max_element(ids); largest != ids.end() && *largest >= vocab) {
        throw Error{
            ErrorKind::deck,
            fmt::format("the prompt has token {}, but the model has {} tokens. Give the tokenizer that it "
                        "was trained with: --tokenizer PATH.",
                        *largest, vocab)};
    }
    return std::ssize(ids);
}

/// Returns " at 910 tokens/s"; empty if no token was read.
std::string rate_of(const train::ReadTokens& read) {
    return read.tokens > 0
               ? fmt::format(" at {:.4g} tokens/s", static_cast<double>(read.tokens) / read.seconds)
               : "";
}

/// Returns "200 tokens at 31.4 tokens/s, after 52 tokens of the prompt at 910 tokens/s".
std::string speed_of(const train::GeneratedText& made) {
    const auto tokens = [](std::int64_t number) {
        return fmt::format("{} token{}", number, number == 1 ? "" : "s");
    };
    auto text = fmt::format("{} at {:.4g} tokens/s, after {} of the prompt{}", tokens(made.tokens),
                            static_cast<double>(made.tokens) / made.seconds, tokens(made.prompt_tokens),
                            rate_of(made.prompt));
    if (made.again.tokens > 0) {
        text += fmt::format("; {} read again{}, because the text reached data.seq", tokens(made.again.tokens),
                            rate_of(made.again));
    }
    return text;
}

/// Returns the choice of the template: as given, else that of the first source of conversations.
std::string template_choice(const SampleOptions& options, const spec::RunSpec& run) {
    if (!options.chat_template.empty()) {
        return options.chat_template;
    }
    const auto source = std::ranges::find(run.data.train, spec::TokenFormat::chat,
                                          [](const auto& one) { return one.format; });
    return source == run.data.train.end() ? "" : source->chat_template;
}

/// Returns the text of a conversation that the model continues.
data::ChatPrompt chat_prompt_of(const SampleOptions& options,
                                const spec::RunSpec& run,
                                const data::TextTokenizer& tokenizer) {
    const auto path = tokenizer_of(run.data.tokenizer, options.tokenizer).path;
    return data::make_chat_prompt(
        tokenizer, path, data::find_chat_template(path, template_choice(options, run)),
        data::template_engine(), data::trained_turn_ends(run.data, tokenizer, run.run.dir), options.system,
        options.prompt);
}

/// Returns the prompt of rank 0 on all ranks: only there does Python have to exist.
///
/// Collective: over `world`
data::ChatPrompt shared_prompt(const comm::Context& world, const data::ChatPrompt& prompt) {
    nlohmann::json sent;
    if (world.rank() == 0) {
        sent = {{"text", prompt.text}, {"end_tokens", prompt.end_tokens}};
    }
    const auto received = nlohmann::json::parse(
        comm::broadcast(world, sent.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
    return {.text = received["text"].get<std::string>(),
            .end_tokens = received["end_tokens"].get<std::vector<std::int32_t>>()};
}

std::optional<int> sample_model(const SampleOptions& options,
                                const comm::Context& world,
                                TrainedModel& model) {
    int exit_code = 0;
    std::int64_t prompt_tokens = 0;
    std::unique_ptr<const data::TextTokenizer> tokenizer;
    data::ChatPrompt prompt{.text = options.prompt, .end_tokens = {}};
    model.run.data.add_bos =
        options.is_chat ? spec::AddBos::no : add_bos_of(options.add_bos, model.run.data.add_bos);
    const auto open = [&] {
        tokenizer = open_tokenizer_of(model.run, options.tokenizer, model.path());
        if (options.is_chat && world.rank() == 0) {
            prompt = chat_prompt_of(options, model.run, *tokenizer);
        }
        const auto tokens = prompt_tokens =
            expect_rows_for(prompt.text, *tokenizer, model.run.data.add_bos, model.run.model.vocab);
        set_cache_home(model.run, options.kv_cache);
        if (world.rank() == 0) {
            print_tokenizer_notes(*tokenizer, model.run.data.add_bos);
        }
        if (world.rank() == 0 && tokens > model.run.data.seq) {
            std::fputs((message(Severity::note,
                                fmt::format("the prompt has {} tokens, but the model reads at most {} "
                                            "(data.seq): it continues from the last {}",
                                            tokens, model.run.data.seq, model.run.data.seq)) +
                        "\n")
                           .c_str(),
                       stderr);
        }
    };
    if (!is_agreed(world, exit_code, open)) {
        return exit_code;
    }
    if (options.is_chat) {
        prompt = shared_prompt(world, prompt);
    }
    if (!tokenizer) {  // on all ranks except rank 0
        open();
    }
    model.run.run.seed = options.seed.value_or(model.run.run.seed);
    auto run = train::generating(model.run, model.here, prompt_tokens, options.tokens);
    set_compute(run, options.compute);
    return with_weights(model, run, world, [&](train::Inference& inference, Progress& progress) {
        progress.end();
        const auto step = model.step();
        const spec::Sample sample{prompt.text, options.tokens, options.temperature};
        const auto made = inference.generate(*tokenizer, sample, step,
                                             {.top_k = options.top_k,
                                              .top_p = options.top_p,
                                              .ends = options.ends,
                                              .end_tokens = prompt.end_tokens});
        if (world.rank() == 0) {
            std::fputs(
                fmt::format("by {}, step {}: {}\n", printable(model.path()), step, speed_of(made)).c_str(),
                stderr);
            const auto shown = options.is_chat ? made.text : options.prompt + made.text;
            std::fputs(printable(shown, Newlines::kept).c_str(), stdout);
            std::fputs("\n", stdout);
        }
        return 0;
    });
}

}  // namespace

int sample(const SampleOptions& options) {
    return train::on_ranks([&](const comm::Context& world) {
        return with_trained_model(options, world,
                                  [&](TrainedModel& model) { return sample_model(options, world, model); });
    });
}

}  // namespace ziggurat::app
