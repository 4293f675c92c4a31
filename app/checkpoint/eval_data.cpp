#include "app/checkpoint/eval_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "app/start/tokenizers.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/catalogue/catalogue.hpp"
#include "comm/control.hpp"
#include "data/chat/open_chat.hpp"
#include "data/corpus.hpp"
#include "data/encoded_text.hpp"
#include "data/file_probe.hpp"
#include "data/fingerprint.hpp"
#include "data/token_file_header.hpp"
#include "data/token_source.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::app {
namespace {

bool takes_own_data(const EvalOptions& options) {
    return options.data.empty();
}

/// Returns the format of --data: --format, else derived from the file name and the tokenizer.
std::string format_of(const EvalOptions& options, const spec::Tokenizer& tokenizer) {
    const bool is_text = tokenizer.kind == spec::TokenizerKind::bytes ||
                         (tokenizer.has_file() && !options.data.ends_with(".bin"));
    return !options.format.empty()                         ? options.format
           : !data::megatron_pair_of(options.data).empty() ? "megatron"
           : options.data.ends_with(".samples")            ? "chat"
           : is_text                                       ? "text"
                                                           : "llmc";
}

/// Returns true if --data is text that this command encodes.
bool is_encoded_here(const EvalOptions& options, const spec::Tokenizer& tokenizer) {
    return !takes_own_data(options) && format_of(options, tokenizer) == "text";
}

/// Throws an error with advice that depends on the content if `path` is a folder.
void expect_files(const std::string& path) {
    std::error_code unreadable;
    if (!std::filesystem::is_directory(path, unreadable)) {
        return;
    }
    const auto kind = checkpoint::kind_of_folder(path);
    const auto name = printable(path);
    throw Error{
        ErrorKind::deck,
        kind == checkpoint::FolderKind::published
            ? fmt::format("--data: '{}' is a Hugging Face model, not data. To evaluate that model, import "
                          "it: ziggurat import {} RUN, then ziggurat eval RUN --data FILE.",
                          name, name)
        : kind == checkpoint::FolderKind::checkpoints
            ? fmt::format("--data: '{}' has checkpoints, not data. To evaluate it: ziggurat eval {} --data "
                          "FILE.",
                          name, name)
            : fmt::format("--data: '{}' is a folder. Name a file, or a pattern in quotes: '{}/*.txt'.", name,
                          name)};
}

/// Returns the data of the run, with --data instead of the deck's sources.
spec::Data named_data(const EvalOptions& options, const spec::RunSpec& run) {
    const auto& tokenizer = run.data.tokenizer;
    const bool reads_bytes = tokenizer.kind == spec::TokenizerKind::bytes;
    const std::string format = format_of(options, tokenizer);
    expect_files(options.data);
    if (reads_bytes && options.format.empty() && format == "megatron") {
        throw Error{
            ErrorKind::deck,
            fmt::format("--data: '{}' is a Megatron pair of token files, but the model reads bytes of text. "
                        "Name a text, or a run that was trained on such tokens.",
                        printable(options.data))};
    }
    if (!tokenizer.has_file() && (format == "text") != reads_bytes) {
        throw Error{
            ErrorKind::deck,
            fmt::format("--format {} does not fit the model ({}). Use {}.", format,
                        reads_bytes ? "it reads bytes of text" : "it reads token numbers",
                        reads_bytes ? "text" : "llmc, megatron, raw or chat, or give --tokenizer PATH")};
    }
    spec::Data data = run.data;
    if (data.reset_at_document && data.document_token < 0 && format != "megatron" && format != "chat") {
        throw Error{ErrorKind::deck,
                    fmt::format("--format {} does not mark documents (the model was trained with "
                                "data.reset_at_document). Use --format megatron.",
                                format)};
    }
    data.held_out = 0;
    data.has_pairs = false;
    data.train.clear();
    data.packing = data.reset_at_document ? spec::SamplePacking::best_fit : spec::SamplePacking::none;
    data.validation = {{.format = spec::token_format_of(format).value(),
                        .path = options.data,
                        .raw_type = spec::raw_type_of(options.dtype).value_or(spec::RawType::uint16)}};
    return data;
}

/// Returns the validation data of the run; with data.held_out, also its training files.
spec::Data own_data(const spec::RunSpec& run) {
    spec::Data data = run.data;
    if (data.held_out > 0) {
        return data;
    }
    if (data.validation.empty()) {
        throw Error{ErrorKind::deck,
                    "the run has no validation data (its deck has neither data.validation nor "
                    "data.held_out). Give --data FILE."};
    }
    data.train.clear();
    return data;
}

/// Rejects pairs of answers, which have a loss of their own.
///
/// \param options  with --data, its format decides; else the run
void expect_no_pairs(const EvalOptions& options,
                     const spec::RunSpec& run,
                     const spec::Data& data,
                     const StopCheck& stop) {
    if (takes_own_data(options)) {
        if (run.data.has_pairs) {
            throw Error{ErrorKind::deck,
                        "eval measures the loss of next tokens, and the run trains on pairs of answers (its "
                        "train.objective.kind is dpo or ipo)."};
        }
        return;
    }
    const auto& source = data.validation.front();
    const bool has_pairs = source.format == spec::TokenFormat::chat &&
                           data::open_chat(data, source, "data.validation[0].path",
                                           {.other_folder = run.run.dir, .of_job = {.stop = stop}})
                               ->has_pairs();
    if (has_pairs) {
        throw Error{ErrorKind::deck,
                    fmt::format("--data: eval measures the loss of next tokens, and '{}' holds pairs of "
                                "answers. Name text or conversations.",
                                printable(options.data))};
    }
}

/// Replaces the deck keys in `message` by the options of this command.
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

[[noreturn]] void report_finding(const EvalOptions& options, const Error& error) {
    const std::string what = error.what();
    throw Error{error.kind(),
                takes_own_data(options) ? what + " For other data, give --data FILE." : in_options(what),
                error.where()};
}

void warn(const std::string& text) {
    std::fputs((message(Severity::warning, text) + "\n").c_str(), stderr);
}

/// Warns, as `train` does, if a file seems to have another format than the one it is read as.
///
/// \param is_guessed  true if no --format is given: then a file that certainly has another format is an error
void warn_of_doubts(const spec::Source& source, bool is_guessed) {
    const bool is_text = source.format == spec::TokenFormat::text;
    const bool has_header = !is_text && source.format != spec::TokenFormat::raw;
    if (has_header || (is_text && data::is_text_inside(source.path, "--data"))) {
        return;
    }
    if (const auto doubt = data::check_format(source, *data::open_source(source, "--data"))) {
        if (is_guessed && doubt->is_certain) {
            throw Error{ErrorKind::deck,
                        fmt::format("--data: '{}' is not read as {} ({}). {}", printable(doubt->path),
                                    spec::word_of(source.format), doubt->reason, doubt->remedy)};
        }
        warn(fmt::format("--data: '{}' is read as {} ({}). {}", printable(doubt->path),
                         spec::word_of(source.format), doubt->reason, in_options(doubt->remedy)));
    }
}

/// Rejects sample files that contradict themselves.
void check_sample_files(const spec::Data& data, const TrainedModel& model) {
    for (const auto& [list, sources] : {std::pair{"train", &data.train}, {"validation", &data.validation}}) {
        for (std::size_t i = 0; i < sources->size(); ++i) {
            if ((*sources)[i].format == spec::TokenFormat::chat) {
                data::open_chat(
                    data, (*sources)[i], fmt::format("data.{}[{}].path", list, i),
                    {.other_folder = model.run.run.dir, .checks_all = true, .of_job = {.stop = model.stop}});
            }
        }
    }
}

/// Warns if files of the run changed since the checkpoint: another part of them may be held out now.
void warn_of_changes(const data::Corpus& corpus,
                     const checkpoint::Manifest& manifest,
                     const StopCheck& stop) {
    for (const auto& file : data::fingerprints(corpus.files(), stop)) {
        const bool is_known = std::ranges::any_of(
            manifest.data, [&](const data::FileFingerprint& other) { return other.is_of_same_bytes(file); });
        if (!is_known && !manifest.data.empty()) {
            warn(
                fmt::format("{}: '{}' has changed since the checkpoint was written: the loss may be of "
                            "other data than the run's validations, or of data that it trained on.",
                            file.key, printable(file.path)));
        }
    }
}

/// Opens a source as a training does, except text in JSON lines or compressed files.
///
/// The bytes of such text become tokens.
std::unique_ptr<data::TokenSource> open_named(const spec::Source& source,
                                              const std::string& key,
                                              const StopCheck& stop) {
    if (source.format == spec::TokenFormat::text && data::is_text_inside(source.path, key)) {
        return std::make_unique<data::EncodedText>(source.path, *data::make_byte_tokenizer(),
                                                   spec::AddBos::no, key, stop);
    }
    return data::open_source(source, key);
}

}  // namespace

spec::Tokenizer find_tokenizer(const EvalOptions& options,
                               const spec::Tokenizer& of_run,
                               const comm::Context& world) {
    auto tokenizer = tokenizer_of(of_run, options.tokenizer);
    std::error_code error;
    const bool does_without = tokenizer.has_file() && options.tokenizer.empty() &&
                              !is_encoded_here(options, tokenizer) &&
                              !std::filesystem::exists(tokenizer.path, error);
    if (comm::broadcast(world, does_without ? "without" : "with") == "without") {
        if (world.rank() == 0) {
            const auto note = fmt::format(
                "'{}' is not here, so bits per byte are not printed. Give its path with "
                "--tokenizer.",
                printable(tokenizer.path));
            std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
        }
        tokenizer = {spec::TokenizerKind::none, "", ""};
    }
    return tokenizer;
}

bool encodes_data(const EvalOptions& options, const spec::RunSpec& run) {
    return is_encoded_here(options, run.data.tokenizer) && run.data.tokenizer.has_file();
}

data::Corpus open_data(const EvalOptions& options, const spec::RunSpec& run, const StopCheck& stop) {
    const bool is_own = takes_own_data(options);
    const auto data = is_own ? own_data(run) : named_data(options, run);
    try {
        expect_no_pairs(options, run, data, stop);
        return {data,
                run.model.vocab,
                run.run.seed,
                is_own ? data::OpenSource{data::open_source}
                       : [&](const auto& source, const auto& key) { return open_named(source, key, stop); },
                is_own ? data::Rest::left_out : data::Rest::included,
                stop,
                run.run.dir};
    } catch (const Error& error) {
        report_finding(options, error);
    }
}

void check_data(const EvalOptions& options, const TrainedModel& model, const data::Corpus& corpus) {
    try {
        check_sample_files(takes_own_data(options) ? own_data(model.run) : named_data(options, model.run),
                           model);
        corpus.check_tokens(data::Corpus::checked_tokens, model.stop);
        if (takes_own_data(options)) {
            warn_of_changes(corpus, model.reader.manifest(), model.stop);
        } else {
            warn_of_doubts(named_data(options, model.run).validation.front(), options.format.empty());
        }
    } catch (const Error& error) {
        report_finding(options, error);
    }
}

data::BatchSource evaluated_data(const EvalOptions& options,
                                 const spec::RunSpec& run,
                                 const data::Corpus& corpus) {
    return corpus.validation(takes_own_data(options) ? run.validate.batches * run.train.global_batch : 0);
}

std::string name_of_data(const EvalOptions& options, const spec::RunSpec& run) {
    if (!takes_own_data(options)) {
        return options.data;
    }
    const auto paths = [](const std::vector<spec::Source>& sources) {
        std::string list;
        for (const auto& source : sources) {
            list += (list.empty() ? "'" : ", '") + source.path + "'";
        }
        return list;
    };
    const auto& data = run.data;
    std::string name = data.validation.empty() ? "" : "data.validation of the run: " + paths(data.validation);
    if (data.held_out > 0) {
        name += fmt::format("{}data.held_out of the run: the last {:.6g} % of {}", name.empty() ? "" : "; ",
                            100 * data.held_out, paths(data.train));
    }
    return run.validate.batches > 0
               ? name + fmt::format(" ({} batch{}, from validate.batches)", run.validate.batches,
                                    run.validate.batches == 1 ? "" : "es")
               : name;
}

}  // namespace ziggurat::app
