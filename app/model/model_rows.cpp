/// Table rows of the commands that read and write models in the Hugging Face format: import, export.
#include "app/command_line/option_rows.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::app {
namespace {

constexpr std::int64_t min_shard_bytes = 1024;

PositionalRow positional(const char* name, const char* doc, std::string Arguments::*field) {
    return {name, doc, [field](Arguments& arguments, const std::string& value) { arguments.*field = value; }};
}

OptionRow shard_row() {
    return {"--shard", "BYTES", "a size of at least 1KiB with its unit, such as 2GB",
            "maximum size of tensors per file (default 5GB); larger models become shards with an index",
            [](Arguments& arguments, const std::string& text) {
                arguments.shard_bytes = deck::read_bytes(text).value_or(0);
                return arguments.shard_bytes >= min_shard_bytes;
            }};
}

}  // namespace

CommandRow import_row() {
    return {.command = Command::import_model,
            .name = "import",
            .doc =
                "Converts a model in the Hugging Face format to a checkpoint of step 0 and a deck that "
                "trains from it.",
            .positionals = {positional("DIR", "the folder with config.json and safetensors files",
                                       &Arguments::source),
                            positional("RUN_DIR", "a new folder, for the checkpoint and deck.yaml",
                                       &Arguments::target)},
            .options = {},
            .examples = {{"ziggurat import models/pythia-70m runs/pythia",
                          "runs/pythia/ckpt and runs/pythia/deck.yaml"},
                         {"ziggurat import ~/mine runs/mine", "your own model"},
                         {"ziggurat import /models/mine /scratch/mine", "from one disk to another"}},
            .problem = [](const Arguments& arguments, const GivenOptions&) -> std::string {
                return arguments.source.empty() ? "no model is given. Name the folder with its config.json."
                       : arguments.target.empty()
                           ? "no target is given. Name a new folder after the folder of the model."
                           : "";
            }};
}

CommandRow export_row() {
    return {
        .command = Command::export_model,
        .name = "export",
        .doc =
            "Exports a checkpoint as a model in the Hugging Face format, or its adapters in PEFT's format.",
        .positionals = {positional("CHECKPOINT", "the folder of a run, its ckpt folder, or one checkpoint",
                                   &Arguments::folder),
                        positional("DIR", "a new folder, for config.json and safetensors files",
                                   &Arguments::target)},
        .options = {one_of("--dtype", "TYPE", &Arguments::dtype, {"bf16", "f32"},
                           "number type of the files: bf16 or f32 (default: that of the imported model, else "
                           "precision.compute)"),
                    text_option(
                        "--base", "NAME", &Arguments::base, "a name of the Hugging Face Hub, or a folder",
                        "base model that is named in adapter files (default: the one the run began with)"),
                    shard_row(),
                    flag("--merge", &Arguments::merge,
                         "add adapters (train.lora) to their weights (default: write the adapters only, in "
                         "PEFT's layout)")},
        .examples = {{"ziggurat export runs/pythia models/pythia-tuned", "the newest checkpoint"},
                     {"ziggurat export runs/pythia/ckpt/step-000000000 models/same --dtype f32",
                      "one checkpoint, in single precision"},
                     {"ziggurat export runs/lora models/mine-merged --merge",
                      "weights and adapters merged into one model"}},
        .problem = [](const Arguments& arguments, const GivenOptions&) -> std::string {
            return arguments.folder.empty()
                       ? "no checkpoint is given. Name the folder of a run, or one checkpoint."
                   : arguments.target.empty() ? "no target is given. Name a new folder after the checkpoint."
                                              : "";
        }};
}

}  // namespace ziggurat::app
