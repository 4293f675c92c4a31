#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "app/commands.hpp"
#include "app/is_to_fit.hpp"
#include "app/rank_processors.hpp"
#include "app/tokenizers.hpp"
#include "app/trained_model.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "comm/watch/liveness.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "train/inference.hpp"
#include "train/on_ranks.hpp"

namespace ziggurat::app {
namespace {

std::unique_ptr<const data::TextTokenizer> open_tokenizer_of(const TrainedModel& model) {
    auto tokenizer = data::open_tokenizer(model.run.data.tokenizer);
    if (!tokenizer) {
        throw Error{ErrorKind::deck,
                    fmt::format("'{}' has no tokenizer (it was trained on token numbers, which a "
                                "text cannot become). Name theirs by --tokenizer.",
                                printable(model.path))};
    }
    if (tokenizer->vocab_size() > model.run.model.vocab) {
        throw Error{ErrorKind::deck,
                    fmt::format("the tokenizer has {} tokens and the model {}. Name the tokenizer "
                                "that the model was trained with.",
                                tokenizer->vocab_size(), model.run.model.vocab)};
    }
    return tokenizer;
}

int sample_together(const Arguments& arguments, const comm::Context& world) {
    int exit_code = 0;
    auto model = find_trained_model(arguments.folder, world, exit_code);
    if (!model) {
        return exit_code;
    }
    model->run.data.tokenizer = tokenizer_of(model->run.data.tokenizer, arguments.tokenizer);
    std::unique_ptr<const data::TextTokenizer> tokenizer;
    if (!is_agreed(world, exit_code, [&] { tokenizer = open_tokenizer_of(*model); })) {
        return exit_code;
    }
    tokenizer = tokenizer ? std::move(tokenizer) : open_tokenizer_of(*model);
    model->run.run.seed = arguments.seed.value_or(model->run.run.seed);
    const auto run = train::evaluating(model->run, model->here, 1);
    if (!is_to_fit(world, run, model->machine, exit_code)) {
        return exit_code;
    }
    const RankProcessors processors{run, world};
    world.liveness()->set_patience(run.run.hang_timeout_seconds);
    train::Inference inference{run, world, processors.all()};
    const auto step = model->manifest.progress.step;
    checkpoint::CheckpointReader reader{model->path, std::move(model->manifest)};
    inference.load(reader);
    const spec::Sample sample{arguments.prompt, arguments.tokens, arguments.temperature};
    const std::string text = inference.generate(*tokenizer, sample, step);
    if (world.rank() == 0) {
        std::fprintf(stderr, "by %s, step %lld\n", printable(model->path).c_str(),
                     static_cast<long long>(step));
        std::fputs(printable(arguments.prompt + text, Newlines::kept).c_str(), stdout);
        std::fputs("\n", stdout);
    }
    return 0;
}

}  // namespace

int sample(const Arguments& arguments) {
    return train::on_ranks([&](const comm::Context& world) { return sample_together(arguments, world); });
}

}  // namespace ziggurat::app
