#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
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

std::optional<int> sample_model(const SampleOptions& options,
                                const comm::Context& world,
                                TrainedModel& model) {
    int exit_code = 0;
    std::unique_ptr<const data::TextTokenizer> tokenizer;
    model.run.data.add_bos = add_bos_of(options.add_bos, model.run.data.add_bos);
    const auto open = [&] {
        tokenizer = open_tokenizer_of(model.run, options.tokenizer, model.path());
        const auto tokens =
            expect_rows_for(options.prompt, *tokenizer, model.run.data.add_bos, model.run.model.vocab);
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
    if (!tokenizer) {  // on all ranks except rank 0
        open();
    }
    model.run.run.seed = options.seed.value_or(model.run.run.seed);
    const auto run = evaluated_run(model, options.compute, 1);
    return with_weights(model, run, world, [&](train::Inference& inference, Progress& progress) {
        progress.end();
        const auto step = model.step();
        const spec::Sample sample{options.prompt, options.tokens, options.temperature};
        const std::string text = inference.generate(
            *tokenizer, sample, step, {.top_k = options.top_k, .top_p = options.top_p, .ends = options.ends});
        if (world.rank() == 0) {
            std::fprintf(stderr, "by %s, step %lld\n", printable(model.path()).c_str(),
                         static_cast<long long>(step));
            std::fputs(printable(options.prompt + text, Newlines::kept).c_str(), stdout);
            std::fputs("\n", stdout);
        }
        return 0;
    });
}

}  // namespace

int sample(const SampleOptions& options) {
    return train::on_ranks([&](const comm::Context& world) {
        return with_trained_model(options.folder, world,
                                  [&](TrainedModel& model) { return sample_model(options, world, model); });
    });
}

}  // namespace ziggurat::app
