#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/commands.hpp"
#include "app/eval_task.hpp"
#include "app/tokenizers.hpp"
#include "app/trained_model.hpp"
#include "app/with_weights.hpp"
#include "base/error.hpp"
#include "base/json_number.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "comm/control.hpp"
#include "data/corpus.hpp"
#include "data/file_look.hpp"
#include "data/token_source.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/token_format.hpp"
#include "train/inference.hpp"
#include "train/on_ranks.hpp"

namespace ziggurat::app {
namespace {

/// What the data are, where the command line does not say it.
std::string format_of(const Arguments& arguments, const spec::Tokenizer& tokenizer) {
    const bool is_text = tokenizer.kind == spec::TokenizerKind::bytes ||
                         (tokenizer.has_file() && !arguments.data.ends_with(".bin"));
    return !arguments.format.empty() ? arguments.format : is_text ? "text" : "llmc";
}

/// The tokenizer to evaluate with, the same on all ranks. That of a run may be elsewhere by now: tokens are
/// evaluated without it, which rank 0 says.
///
/// Collective: over `world`
spec::Tokenizer find_tokenizer(const Arguments& arguments,
                               const spec::Tokenizer& of_run,
                               const comm::Context& world) {
    auto tokenizer = tokenizer_of(of_run, arguments.tokenizer);
    std::error_code error;
    const bool does_without = tokenizer.has_file() && arguments.tokenizer.empty() &&
                              format_of(arguments, tokenizer) != "text" &&
                              !std::filesystem::exists(tokenizer.path, error);
    if (comm::broadcast(world, does_without ? "without" : "with") == "without") {
        if (world.rank() == 0) {
            const auto note = fmt::format(
                "'{}' is not here, by which bits per byte would be told. Name it by "
                "--tokenizer.",
                printable(tokenizer.path));
            std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
        }
        tokenizer = {spec::TokenizerKind::none, "", ""};
    }
    return tokenizer;
}

/// The data of the command line in the place of the deck's.
spec::Data data_of(const Arguments& arguments, const spec::RunSpec& run) {
    const auto& tokenizer = run.data.tokenizer;
    const bool reads_bytes = tokenizer.kind == spec::TokenizerKind::bytes;
    const std::string format = format_of(arguments, tokenizer);
    if (!tokenizer.has_file() && (format == "text") != reads_bytes) {
        throw Error{ErrorKind::deck,
                    fmt::format("--format {} does not fit the model ({}). Use {}.", format,
                                reads_bytes ? "it reads bytes of text" : "it reads token numbers",
                                reads_bytes ? "text"
                                            : "llmc, megatron or raw, or name its tokenizer by --tokenizer")};
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
    data.validation = {{.format = spec::token_format_of(format).value(),
                        .path = arguments.data,
                        .raw_type = spec::raw_type_of(arguments.dtype).value_or(spec::RawType::uint16)}};
    return data;
}

/// Options in the place of what a deck would say.
std::string in_options(std::string message) {
    for (const auto& [of_deck, option] :
         {std::pair{"data.validation[0].path", "--data"},
          std::pair{"{format: raw, dtype: uint16}", "--format raw --dtype uint16"},
          std::pair{"{format: raw, dtype: uint32}", "--format raw --dtype uint32"},
          std::pair{"format: ", "--format "}}) {
        if (const auto at = message.find(of_deck); at != std::string::npos) {
            message.replace(at, std::string_view{of_deck}.size(), option);
        }
    }
    return message;
}

[[noreturn]] void complain(const Error& error) {
    throw Error{error.kind(), in_options(error.what()), error.where()};
}

/// A file of another format than it is read as is a warning here too.
void warn_of_doubts(const spec::Source& source) {
    if (const auto doubt = data::doubt_of(source, *data::open_source(source, "--data"))) {
        std::fputs(
            (message(Severity::warning,
                     fmt::format("--data: '{}' is read as {} ({}). {}", printable(doubt->path),
                                 spec::word_of(source.format), doubt->why, in_options(doubt->remedy))) +
             "\n")
                .c_str(),
            stderr);
    }
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
        warn_of_doubts(data_of(arguments, run).validation.front());
    } catch (const Error& error) {
        complain(error);
    }
}

/// Errors: Error{deck} where nothing was foretold, so that there is no loss
void expect_targets(const Arguments& arguments, const train::ValidationLoss& loss) {
    if (!loss.mean) {
        throw Error{
            ErrorKind::deck,
            fmt::format("--data: '{}' has no target tokens (each of its tokens begins a document, and "
                        "the model was trained with data.reset_at_document: nothing before it "
                        "foretells it). Name files with longer documents.",
                        printable(arguments.data))};
    }
}

/// Bits that the model needs for a byte of the text that targets stand for.
double bits_per_byte(const train::ValidationLoss& loss) {
    return loss.mean.value() * std::numbers::log2e * static_cast<double>(loss.tokens) /
           static_cast<double>(loss.bytes);
}

void say(const Arguments& arguments, const TrainedModel& model, const train::ValidationLoss& loss) {
    const double mean = loss.mean.value();
    const double perplexity = std::exp(mean);
    if (arguments.json) {
        JsonLine line;
        line.begin();
        line.field("checkpoint", model.path());
        line.field("step", model.step());
        line.field("data", arguments.data);
        line.field("loss", mean);
        line.field("perplexity", perplexity);
        line.field("tokens", loss.tokens);
        if (loss.bytes > 0) {
            line.field("bytes", loss.bytes);
            line.field("bits_per_byte", bits_per_byte(loss));
        }
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
        printable(model.path()), format_grouped(model.step()), printable(arguments.data), mean, bits,
        perplexity, format_grouped(loss.tokens), bytes);
}

std::optional<int> eval_model(const Arguments& arguments, const comm::Context& world, TrainedModel& model) {
    int exit_code = 0;
    model.run.data.tokenizer = find_tokenizer(arguments, model.run.data.tokenizer, world);
    if (!is_agreed(world, exit_code, [&] { check_data(arguments, model.run); })) {
        return exit_code;
    }
    const auto run = evaluated_run(arguments, model);
    return with_weights(model, run, world, [&](train::Inference& inference, Progress& progress) {
        const data::Corpus corpus = open_corpus(arguments, model.run);
        const auto tokenizer = data::open_tokenizer(model.run.data.tokenizer);
        const auto loss = inference.loss(corpus.validation(0), &progress, tokenizer.get());
        progress.end();
        if (!is_agreed(world, exit_code, [&] { expect_targets(arguments, loss); })) {
            return exit_code;
        }
        if (world.rank() == 0) {
            say(arguments, model, loss);
        }
        return std::isfinite(*loss.mean) ? 0 : static_cast<int>(ErrorKind::numerics);
    });
}

}  // namespace

int eval(const Arguments& arguments) {
    return train::on_ranks([&](const comm::Context& world) {
        return with_trained_model(arguments.folder, world, [&](TrainedModel& model) {
            return arguments.task.empty() ? eval_model(arguments, world, model)
                                          : eval_task(arguments, world, model);
        });
    });
}

}  // namespace ziggurat::app
