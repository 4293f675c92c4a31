/// Table rows of the commands that read and write models in the Hugging Face format: import, export.
#include "app/command_line/option_rows.hpp"
#include "app/model/model_options.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::app {
namespace {

constexpr std::int64_t min_shard_bytes = 1024;
constexpr std::int64_t max_shard_bytes = 1'000'000'000'000'000;

template <class O>
PositionalRowOf<O> positional(const char* name, const char* doc, std::string O::*field) {
    return {name, doc, [field](O& options, const std::string& value) { options.*field = value; }};
}

OptionRowOf<ExportOptions> shard_row() {
    return {"--shard", "BYTES", "a size from 1KiB to 1PB with its unit, such as 2GB",
            "maximum size of tensors per file (default 5GB); larger models become shards with an index",
            [](ExportOptions& options, const std::string& text) {
                options.shard_bytes = deck::read_bytes(text).value_or(0);
                return options.shard_bytes >= min_shard_bytes && options.shard_bytes <= max_shard_bytes;
            }};
}

}  // namespace

CommandRowOf<ImportOptions> import_row() {
    return {.name = "import",
            .doc =
                "Converts a model in the Hugging Face format to a checkpoint of step 0 and a deck that "
                "trains from it.",
            .positionals = {positional("DIR", "the folder with config.json and safetensors files",
                                       &ImportOptions::source),
                            positional("RUN_DIR", "a new folder, for the checkpoint and deck.yaml",
                                       &ImportOptions::target)},
            .options = {one_of("--for", "JOB", &ImportOptions::job, {"chat", "lora", "dpo", "pretrain"},
                               "write a deck with usual values and their sources: chat (all weights on "
                               "conversations), lora (adapters), dpo (preferences) or pretrain (tokens)"),
                        text_option("--data", "FILE", &ImportOptions::data, "the name of a file",
                                    "with --for: records of conversations or preferences, samples, or tokens "
                                    "(.bin, .idx); steps, batch and validation follow from its size"),
                        flag("--dry-run", &ImportOptions::dry_run,
                             "only read config.json: print the family and the number of parameters")},
            .examples = {{"ziggurat import models/pythia-70m runs/pythia",
                          "runs/pythia/ckpt and runs/pythia/deck.yaml"},
                         {"ziggurat import models/qwen runs/qwen --for lora --data chats.jsonl",
                          "a deck that trains adapters on conversations"},
                         {"ziggurat import models/pythia-70m --dry-run", "whether it can be imported"}},
            .problem = [](const ImportOptions& options, const GivenOptions&) -> std::string {
                return options.source.empty() ? "no model is given. Name the folder with its config.json."
                       : !options.data.empty() && options.job.empty()
                           ? "--data needs --for. Add --for chat, lora, dpo or pretrain."
                       : !options.job.empty() && options.dry_run
                           ? "--dry-run writes no deck. Leave out --for."
                       : options.target.empty() && !options.dry_run
                           ? "no target is given. Name a new folder after the folder of the model."
                           : "";
            }};
}

CommandRowOf<ExportOptions> export_row() {
    return {
        .name = "export",
        .doc =
            "Exports a checkpoint as a model in the Hugging Face format, or its adapters in PEFT's format.",
        .positionals = {positional("CHECKPOINT", "the folder of a run, its ckpt folder, or one checkpoint",
                                   &ExportOptions::folder),
                        positional("DIR", "a new folder, for config.json and safetensors files",
                                   &ExportOptions::target)},
        .options = {one_of("--dtype", "TYPE", &ExportOptions::dtype, {"bf16", "f32"},
                           "number type of the files: bf16 or f32 (default: that of the imported model, else "
                           "precision.compute)"),
                    text_option(
                        "--base", "NAME", &ExportOptions::base, "a name of the Hugging Face Hub, or a folder",
                        "base model that is named in adapter files (default: the one the run began with)"),
                    shard_row(),
                    flag("--average", &ExportOptions::average,
                         "exports the average of the weights (train.average) instead of the weights"),
                    flag("--merge", &ExportOptions::merge,
                         "add adapters (train.lora) to their weights (default: write the adapters only, in "
                         "PEFT's layout)")},
        .examples = {{"ziggurat export runs/pythia models/pythia-tuned", "the newest checkpoint"},
                     {"ziggurat export runs/pythia/ckpt/step-000000000 models/same --dtype f32",
                      "one checkpoint, in single precision"},
                     {"ziggurat export runs/lora models/mine-merged --merge",
                      "weights and adapters merged into one model"}},
        .problem = [](const ExportOptions& options, const GivenOptions&) -> std::string {
            return options.folder.empty()
                       ? "no checkpoint is given. Name the folder of a run, or one checkpoint."
                   : options.target.empty() ? "no target is given. Name a new folder after the checkpoint."
                                            : "";
        }};
}

}  // namespace ziggurat::app
