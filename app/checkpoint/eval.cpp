#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "app/checkpoint/checkpoint_options.hpp"
#include "app/checkpoint/eval_data.hpp"
#include "app/checkpoint/eval_task.hpp"
#include "app/checkpoint/loaded_weights.hpp"
#include "app/checkpoint/trained_model.hpp"
#include "app/start/tokenizers.hpp"
#include "base/error.hpp"
#include "base/text/json_number.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "comm/throw_on_all_ranks.hpp"
#include "data/corpus.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/token_format.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/work_stop.hpp"
#include "train/inference.hpp"
#include "train/on_ranks.hpp"
#include "train/report/source_losses.hpp"

namespace ziggurat::app {
namespace {

/// Checks that at least one token was predicted.
/// Errors: Error{deck} if the data have no target tokens, so that no loss exists
void expect_targets(const EvalOptions& options, const spec::RunSpec& run, const train::ValidationLoss& loss) {
    if (!loss.mean) {
        const auto name = name_of_data(options, run);
        const bool has_samples = options.data.empty()
                                     ? spec::has_conversations(run.data)
                                     : options.format == spec::word_of(spec::TokenFormat::chat);
        const char* reason =
            has_samples
                ? "none of the tokens that the model reads of a sample counts in the loss; it reads "
                  "data.seq tokens"
                : "each of its tokens begins a document, and with the model's data.reset_at_document no "
                  "context predicts it";
        throw Error{ErrorKind::deck,
                    fmt::format("{} has no target tokens ({}). Give other files with --data.",
                                printable(options.data.empty() ? name : "--data: '" + name + "'"), reason)};
    }
}

/// Returns the model's bits per byte of the text of the target tokens.
double bits_per_byte(const train::ValidationLoss& loss) {
    return loss.mean.value() * std::numbers::log2e * static_cast<double>(loss.tokens) /
           static_cast<double>(loss.bytes);
}

void print_line(const EvalOptions& options, const TrainedModel& model, const train::ValidationLoss& loss) {
    const auto data = name_of_data(options, model.run);
    const double mean = loss.mean.value();
    const double perplexity = std::exp(mean);
    if (options.json) {
        JsonLine line;
        line.begin();
        line.field("checkpoint", model.path());
        line.field("step", model.step());
        line.field("data", data);
        line.field("loss", mean);
        line.field("perplexity", perplexity);
        line.field("tokens", loss.tokens);
        if (loss.bytes > 0) {
            line.field("bytes", loss.bytes);
            line.field("bits_per_byte", bits_per_byte(loss));
        }
        train::write_loss_by_source(loss.by_source, line);
        std::fputs(std::string{line.end()}.c_str(), stdout);
        return;
    }
    const auto bits = loss.bytes > 0 ? fmt::format(", {:.4f} bits per byte", bits_per_byte(loss)) : "";
    const auto bytes = loss.bytes > 0 && loss.bytes != loss.tokens
                           ? fmt::format(", {} bytes of text", format_grouped(loss.bytes))
                           : "";
    fmt::print(
        "checkpoint  {}, step {}\ndata        {}\nloss        {:.6f} nats per token{}\n"
        "perplexity  {:.4f}\ntokens      {}{}\n",
        printable(model.path()), format_grouped(model.step()), printable(data), mean, bits, perplexity,
        format_grouped(loss.tokens), bytes);
    for (const auto& source : loss.by_source) {
        fmt::print("  {}: loss {:.6f}, {} tokens\n", printable(source.name), source.mean().value_or(0),
                   format_grouped(source.tokens));
    }
}

std::optional<int> eval_model(const EvalOptions& options, const comm::Context& world, TrainedModel& model) {
    int exit_code = 0;
    model.run.data.tokenizer = find_tokenizer(options, model.run.data.tokenizer, world);
    model.run.data.add_bos = add_bos_of(options.add_bos, model.run.data.add_bos);
    std::optional<data::Corpus> corpus;
    std::unique_ptr<const data::TextTokenizer> tokenizer;
    const auto check = [&] {  // on rank 0
        corpus = open_data(options, model.run, model.stop);
        check_data(options, model, *corpus);
        if (encodes_data(options, model.run)) {
            tokenizer = data::open_tokenizer(model.run.data.tokenizer);
            print_tokenizer_notes(*tokenizer, model.run.data.add_bos);
        }
    };
    if (!is_agreed(world, exit_code, check)) {
        return exit_code;
    }
    const auto run = evaluated_run(model, options.compute, model.run.train.micro_batch);
    return with_weights(model, run, world, [&](train::Inference& inference, Progress& progress) {
        comm::stop_on_all_ranks(
            world, [&] { corpus = corpus ? std::move(corpus) : open_data(options, model.run, model.stop); });
        tokenizer = tokenizer ? std::move(tokenizer) : data::open_tokenizer(model.run.data.tokenizer);
        const auto loss = inference.loss(evaluated_data(options, model.run, *corpus), &progress,
                                         tokenizer.get(), model.stop);
        progress.end();
        if (!is_agreed(world, exit_code, [&] { expect_targets(options, model.run, loss); })) {
            return exit_code;
        }
        if (world.rank() == 0) {
            print_line(options, model, loss);
        }
        return std::isfinite(*loss.mean) ? 0 : static_cast<int>(ErrorKind::numerics);
    });
}

}  // namespace

int eval(const EvalOptions& options) {
    const train::StopSignals signals;
    const train::WorkStop stop{signals};
    return train::on_ranks([&](const comm::Context& world) {
        const auto use = [&](TrainedModel& model) {
            return options.task.empty() ? eval_model(options, world, model)
                                        : eval_task(options, world, model);
        };
        return with_trained_model(options, world, use, stop.check_of("evaluates the model"));
    });
}

}  // namespace ziggurat::app
