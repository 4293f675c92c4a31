#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>
#include <string_view>

#include "app/commands.hpp"
#include "app/eval_task.hpp"
#include "app/on_ranks.hpp"
#include "app/trained_model.hpp"
#include "app/with_weights.hpp"
#include "base/error.hpp"
#include "base/json_number.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "data/corpus.hpp"
#include "train/inference.hpp"

namespace ziggurat::app {
namespace {

/// The data of the command line in the place of the deck's.
spec::Data data_of(const Arguments& arguments, const spec::RunSpec& run) {
    const bool reads_bytes = run.data.tokenizer == spec::Tokenizer::bytes;
    const std::string format = !arguments.format.empty() ? arguments.format : reads_bytes ? "text" : "llmc";
    if ((format == "text") != reads_bytes) {
        throw Error{ErrorKind::deck,
                    fmt::format("--format {} does not fit the model ({}). Use {}.", format,
                                reads_bytes ? "it reads bytes of text" : "it reads token numbers",
                                reads_bytes ? "text" : "llmc or megatron")};
    }
    spec::Data data = run.data;
    if (data.reset_at_document && data.document_token < 0 && format != "megatron") {
        throw Error{ErrorKind::deck,
                    fmt::format("--format {} does not say where documents begin (the model was trained with "
                                "data.reset_at_document). Use --format megatron.",
                                format)};
    }
    data.held_out = 0;
    data.train.clear();
    data.validation = {{.format = format == "text"   ? spec::TokenFormat::text
                                  : format == "llmc" ? spec::TokenFormat::llmc
                                                     : spec::TokenFormat::megatron,
                        .path = arguments.data}};
    return data;
}

/// Complaints name the option in the place of the deck's key.
[[noreturn]] void complain(const Error& error) {
    const std::string_view key = "data.validation[0].path";
    std::string message = error.what();
    if (const auto at = message.find(key); at != std::string::npos) {
        message.replace(at, key.size(), "--data");
    }
    throw Error{error.kind(), message, error.where()};
}

data::Corpus open_corpus(const Arguments& arguments, const spec::RunSpec& run) {
    try {
        return {data_of(arguments, run), run.model.vocab, run.run.seed};
    } catch (const Error& error) {
        complain(error);
    }
}

void check_data(const Arguments& arguments, const spec::RunSpec& run) {
    const data::Corpus corpus = open_corpus(arguments, run);
    try {
        corpus.check_tokens();
    } catch (const Error& error) {
        complain(error);
    }
}

void say(const Arguments& arguments, const TrainedModel& model, const train::ValidationLoss& loss) {
    const double perplexity = std::exp(loss.mean);
    if (arguments.json) {
        JsonLine line;
        line.begin();
        line.field("checkpoint", model.path);
        line.field("step", model.manifest.progress.step);
        line.field("data", arguments.data);
        line.field("loss", loss.mean);
        line.field("perplexity", perplexity);
        line.field("tokens", loss.tokens);
        std::fputs(std::string{line.end()}.c_str(), stdout);
        return;
    }
    const std::string bits = model.run.data.tokenizer == spec::Tokenizer::bytes
                                 ? fmt::format(", {:.4f} bits per byte", loss.mean * std::numbers::log2e)
                                 : "";
    fmt::print(
        "checkpoint  {}, step {}\ndata        {}\nloss        {:.6f} nats per token{}\n"
        "perplexity  {:.4f}\ntokens      {}\n",
        printable(model.path), format_grouped(model.manifest.progress.step), printable(arguments.data),
        loss.mean, bits, perplexity, format_grouped(loss.tokens));
}

int eval_together(const Arguments& arguments, const comm::Context& world) {
    int exit_code = 0;
    const auto model = find_trained_model(arguments.folder, world, exit_code);
    if (!model || !is_agreed(world, exit_code, [&] { check_data(arguments, model->run); })) {
        return exit_code;
    }
    const auto run = evaluated_run(arguments, *model);
    return with_weights(*model, run, world, [&](train::Inference& inference, Progress& progress) {
        const data::Corpus corpus = open_corpus(arguments, model->run);
        const auto loss = inference.loss(corpus.validation(0), &progress);
        progress.end();
        if (world.rank() == 0) {
            say(arguments, *model, loss);
        }
        return std::isfinite(loss.mean) ? 0 : static_cast<int>(ErrorKind::numerics);
    });
}

}  // namespace

int eval(const Arguments& arguments) {
    return on_ranks([&](const comm::Context& world) {
        return arguments.task.empty() ? eval_together(arguments, world) : eval_task(arguments, world);
    });
}

}  // namespace ziggurat::app
