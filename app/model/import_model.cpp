#include "checkpoint/hf/import_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "app/command_line/version.hpp"
#include "app/model/job_deck.hpp"
#include "app/model/model_options.hpp"
#include "app/model/usual_values.hpp"
#include "app/output/output_style.hpp"
#include "app/start/tokenizers.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/looked_in.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "checkpoint/hf/companion_files.hpp"
#include "deck/files/hf_config.hpp"
#include "deck/load.hpp"
#include "deck/values/quantities.hpp"
#include "layout/counts.hpp"
#include "storage/directory.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/work_stop.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t longest_sequence = 1024;

deck::LoadedDeck load(const std::string& text) {
    auto loaded =
        deck::load_text(text, "the deck of the import", {},
                        {.ranks = 1, .threads = 1, .needs_data = false, .read_tokenizer = read_tokenizer});
    if (!loaded.ok()) {
        std::string errors;  // no warnings and notes: the user has not written this deck
        for (const auto& problem : loaded.found.sorted()) {
            errors += problem.severity == Severity::error ? "\n" + problem.text() : "";
        }
        throw Error{ErrorKind::deck, "the model cannot be imported:" + errors};
    }
    return loaded;
}

/// Returns the last component of a path, with or without a slash at its end.
std::string name_of_run(const std::string& folder) {
    const auto path = fs::path{folder}.lexically_normal();
    return (path.has_filename() ? path : path.parent_path()).filename().string();
}

/// Returns a minimal deck that trains on `folder`/train.bin, which does not exist yet.
///
/// \param model      value of the key `model`, in YAML
/// \param tokenizer  value of the key `data.tokenizer`, in YAML
std::string deck_text(const std::string& folder,
                      const std::string& model,
                      const std::string& tokenizer,
                      std::int64_t seq) {
    return fmt::format(
        "deck_version: 1\n"
        "run: {{name: {}}}\n"
        "model: {}\n"
        "data: {{tokenizer: {}, seq: {}, train: [{{format: llmc, path: {}}}]}}\n"
        "train: {{steps: 1000, global_batch: 8, micro_batch: 1}}\n"
        "optimizer: {{lr: 1.0e-5}}\n",
        deck::write_text(name_of_run(folder) + "-tuned"), model, tokenizer, seq,
        deck::write_text(folder + "/train.bin"));
}

struct TokenizerText {
    std::string text = "none";  ///< value of data.tokenizer
    std::string reason = {};    ///< why the deck has no tokenizer; empty if it has one
};

/// Returns data.tokenizer for the tokenizer in the model's folder.
///
/// The tokenizer must be readable and fit the vocabulary.
TokenizerText tokenizer_text(const std::string& folder, std::int64_t vocab) {
    std::error_code error;
    const auto is_present = [&](const char* name) { return fs::exists(fs::path{folder} / name, error); };
    std::string cause = "it has neither tokenizer.json nor tokenizer.model";
    if (is_present("tokenizer.json") || is_present("tokenizer.model")) {
        try {
            // "./" because the folder may be named `bytes`, which alone is a kind of tokenizer.
            const auto tokenizer = tokenizer_of({}, (fs::path{"."} / folder).string());
            if (const auto facts = read_tokenizer(tokenizer); facts.vocab <= vocab) {
                return {fmt::format("{{kind: {}, path: {}}}",
                                    tokenizer.kind == spec::TokenizerKind::hf ? "hf" : "sentencepiece",
                                    deck::write_text(folder))};
            }
            cause = "its tokenizer has more tokens than the model";
        } catch (const Error& problem) {
            cause = problem.what();
        }
    }
    return {.reason = cause};
}

/// Returns the keys of `model` from config.json, with `init` as the value of model.init.
std::string model_text(const deck::HfConfig& config, const std::string& init) {
    constexpr std::string_view section = "model.";
    std::string keys;
    std::map<std::string, std::string> maps;  // by their name: `rope_scaling`, `bias`
    for (const auto& value : config.values) {
        const auto key = value.deck_key.substr(section.size());
        if (const auto dot = key.find('.'); dot != std::string::npos) {
            auto& map = maps[key.substr(0, dot)];
            map += (map.empty() ? "" : ", ") + key.substr(dot + 1) + ": " + value.text;
        } else {
            keys += "\n  " + key + ": " + value.text;
        }
    }
    for (const auto& [name, map] : maps) {
        keys += "\n  " + name + ": {" + map + "}";
    }
    return keys + "\n  init: " + init;
}

/// Returns true if the folder of checkpoints has only what an interrupted import leaves.
bool is_unfinished(const fs::path& ckpt) {
    std::error_code error;
    if (!fs::is_directory(ckpt, error)) {
        return false;
    }
    const auto entries = fs::directory_iterator{ckpt, error};
    return std::all_of(begin(entries), end(entries),
                       [](const auto& entry) { return entry.path().extension() == ".tmp"; });
}

void expect_new(const std::string& folder) {
    std::error_code error;
    for (const char* name : {"ckpt", "deck.yaml", "metrics.jsonl"}) {
        const auto path = fs::path{folder} / name;
        if (fs::exists(path, error) && !is_unfinished(path)) {
            throw Error{ErrorKind::deck,
                        fmt::format("'{}' already holds a run ('{}' exists). Name a new folder.",
                                    printable(folder), name)};
        }
    }
    fs::create_directories(folder, error);
    if (error) {
        throw Error{ErrorKind::resource,
                    fmt::format("cannot create '{}' ({}). Name a folder that you can write to.",
                                printable(folder), error.message())};
    }
}

/// Returns the deck that the import writes, without the comment at its beginning.
WrittenDeck written_deck(const ImportOptions& options,
                         const deck::HfConfig& config,
                         const spec::Model& model,
                         const std::string& tokenizer,
                         const StopCheck& stop) {
    const auto& folder = options.target;
    if (options.job.empty()) {
        const auto init = "{from: checkpoint, path: " + deck::write_text(folder) + "}";
        WrittenDeck deck;
        deck.text =
            deck_text(folder, model_text(config, init), tokenizer, std::min(model.max_seq, longest_sequence));
        return deck;
    }
    return job_deck({.folder = folder,
                     .name = deck::write_text(name_of_run(folder) + "-" + options.job),
                     .model = [&](const std::string& init) { return model_text(config, init); },
                     .tokenizer = tokenizer,
                     .max_seq = model.max_seq},
                    options.job, options.data, stop);
}

/// Returns the comment at the beginning of the deck.
std::string deck_comment(const ImportOptions& options, const std::string& deck_path) {
    const auto source = printable(options.source);
    const auto path = printable(deck_path);
    if (options.job.empty()) {
        return fmt::format(
            "# Continues the training of the model imported from {}.\n# Set data.train to your "
            "tokens, then run\n#\n#   ziggurat train {}\n",
            source, path);
    }
    return fmt::format(
        "# Trains the model imported from {}: {}.\n# Usual values and their sources are below. Change them "
        "as you need.\n#\n#   ziggurat check {}\n#   ziggurat train {}\n",
        source, usual_values_of(options.job).trained, path, path);
}

}  // namespace

int import_model(const ImportOptions& options) {
    const auto begin_ns = monotonic_ns();
    const train::StopSignals signals;
    const train::WorkStop stop{signals};
    const auto check_stop =
        stop.check_of("imports the model", "Its checkpoint is removed. Run the same command again.");
    const auto config = deck::read_published_config(options.source);
    if (config.is_missing) {
        throw Error{ErrorKind::deck,
                    fmt::format("cannot read '{}' (no such file in {}). Name the folder of a model in the "
                                "Hugging Face format.",
                                printable(config.file), looked_in(config.file))};
    }
    const auto& folder = options.dry_run ? options.source : options.target;
    const auto published = load(
        deck_text(folder, "{init: {from: hf, path: " + deck::write_text(options.source) + "}}", "none", 1));
    const auto& model = published.run.model;
    if (options.dry_run) {
        const auto count = layout::count_parameters(model).total;
        fmt::print("{}  {} ({}) parameters, {} layers; no file is written\n", model.family,
                   format_count(static_cast<double>(count)), count, model.layers);
        return 0;
    }
    const auto tokenizer = tokenizer_text(options.source, published.run.model.vocab);
    const auto seq = std::min(model.max_seq, longest_sequence);
    checkpoint::hf::HfWeights weights{options.source, published.run.model};

    const auto recorded = load(deck_text(folder, model_text(config, "random"), tokenizer.text, seq));
    const auto written = written_deck(options, config, model, tokenizer.text, check_stop);
    expect_new(folder);
    if (!tokenizer.reason.empty()) {
        const auto note = fmt::format("the deck has no tokenizer ({})", tokenizer.reason);
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
    }
    for (const auto& warning : written.warnings) {
        std::fputs((message(Severity::warning, warning) + "\n").c_str(), stderr);
    }
    Progress progress{show_progress()};
    progress.begin("imports the model", "bytes");
    const auto made = checkpoint::hf::import_model(weights, folder + "/ckpt", recorded.effective, version(),
                                                   [&](std::int64_t done, std::int64_t all) {
                                                       check_stop();
                                                       progress.is_at(done, all);
                                                   });
    checkpoint::hf::keep_companions(options.source, options.source, folder + "/ckpt");
    const auto deck_path = folder + "/deck.yaml";
    storage::write_small_file(deck_path, deck_comment(options, deck_path) + written.text);
    progress.end();
    fmt::print("{}  {} tensors, {}; in {}\ndeck        {}\n", printable(made.path), made.tensors,
               format_bytes(made.bytes), format_duration(seconds_between(begin_ns, monotonic_ns())),
               printable(deck_path));
    if (!written.summary.empty()) {
        fmt::print("job         {}\n", written.summary);
    }
    return 0;
}

}  // namespace ziggurat::app
