#include <fmt/format.h>

#include <cstdio>

#include "app/commands.hpp"
#include "app/is_to_fit.hpp"
#include "app/rank_processors.hpp"
#include "app/trained_model.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "comm/watch/liveness.hpp"
#include "train/inference.hpp"
#include "train/on_ranks.hpp"

namespace ziggurat::app {
namespace {

int sample_together(const Arguments& arguments, const comm::Context& world) {
    int exit_code = 0;
    auto model = find_trained_model(arguments.folder, world, exit_code);
    if (!model || !is_agreed(world, exit_code, [&] {
            if (model->run.data.tokenizer == spec::Tokenizer::none) {
                throw Error{
                    ErrorKind::deck,
                    fmt::format("'{}' has no tokenizer (it was trained on token numbers, which a text "
                                "cannot become). Use 'eval' with files of tokens.",
                                printable(model->path))};
            }
        })) {
        return exit_code;
    }
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
    const std::string text = inference.generate(sample, step);
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
