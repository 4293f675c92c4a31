/// Table rows of the commands that read checkpoints: inspect, sample, eval.
#include <cmath>

#include "app/command_line/option_rows.hpp"

namespace ziggurat::app {
namespace {

constexpr double hottest = 100;

std::vector<PositionalRow> folder_of_run(const char* name) {
    return {{name, "the folder of a run, its ckpt folder, or one checkpoint",
             [](Arguments& arguments, const std::string& value) { arguments.folder = value; }}};
}

std::string problem_of_folder(const Arguments& arguments) {
    return arguments.folder.empty()
               ? "no folder is given. Name the folder of a run (such as runs/quickstart) or a checkpoint."
               : "";
}

std::string problem_of_inspect(const Arguments& arguments, const GivenOptions& given) {
    const std::size_t asked = given.options.size() - (given.has("--json") ? 1 : 0);
    if (arguments.folder.empty()) {
        return "no path is given. Name the folder of a run (such as runs/quickstart), a checkpoint or "
               "a token file.";
    }
    return asked > 1 ? "--tensors, --tensor, --verify and --diff exclude each other. Give one of them." : "";
}

std::string problem_of_eval(const Arguments& arguments, const GivenOptions& given) {
    if (arguments.folder.empty()) {
        return problem_of_folder(arguments);
    }
    if (given.has("--data") && given.has("--task")) {
        return "--data and --task exclude each other. Give one at a time.";
    }
    if (!given.has("--task") && given.has("--choices")) {
        return "--choices requires --task (other data have no choices). Leave it out.";
    }
    if (!given.has("--data") && given.has("--format")) {
        return given.has("--task") ? "--format requires --data (a task is JSON lines). Leave it out."
                                   : "--format requires --data (the run's deck has the format of its own "
                                     "data). Leave it out, or give --data FILE.";
    }
    if (given.has("--dtype") != (arguments.format == "raw")) {
        return given.has("--dtype")
                   ? "--dtype requires --format raw (other formats store the type). Leave it out."
                   : "raw files do not store the type of their numbers. Add --dtype uint16 or "
                     "--dtype uint32.";
    }
    return given.has("--choices") && arguments.choices == arguments.task
               ? "--choices would overwrite the file of --task. Name another file."
               : "";
}

OptionRow temperature_row() {
    return {"--temperature", "T", "a number from 0 to 100",
            "divides the logits (default 0.8); 0 takes the most likely token",
            [](Arguments& arguments, const std::string& text) {
                const auto number = number_in(text, 0.0, hottest);
                arguments.temperature = number.value_or(0);
                return number.has_value();
            }};
}

OptionRow top_p_row() {
    return {"--top-p", "P", "a number above 0, up to 1",
            "nucleus sampling: the smallest set of tokens with this total probability (default 1: all)",
            [](Arguments& arguments, const std::string& text) {
                const auto number = number_in(text, 0.0, 1.0);
                arguments.top_p = number.value_or(1);
                return number.has_value() && *number > 0;
            }};
}

OptionRow stop_row() {
    return {"--stop", "TEXT", "a text that is not empty", "stops before this text",
            [](Arguments& arguments, const std::string& text) {
                if (!text.empty()) {
                    arguments.ends.push_back(text);
                }
                return !text.empty();
            }};
}

}  // namespace

CommandRow inspect_row() {
    return {
        .command = Command::inspect,
        .name = "inspect",
        .doc = "Shows, verifies and compares checkpoints, and shows token files.",
        .positionals = {{"PATH", "the folder of a run, its ckpt folder, a checkpoint or a token file",
                         [](Arguments& arguments, const std::string& value) { arguments.folder = value; }}},
        .options = {flag("--tensors", &Arguments::tensors, "list the tensors: name, shape, type, pieces"),
                    text_option("--tensor", "NAME", &Arguments::tensor, "the name of a tensor",
                                "statistics of a tensor: minimum, maximum, mean, norm, first values"),
                    flag("--verify", &Arguments::verify,
                         "verify every byte of every checkpoint; exit code 4 if one is corrupt"),
                    text_option("--diff", "DIR", &Arguments::other, "the folder of a run, or one checkpoint",
                                "compare with this checkpoint, tensor by tensor; exit code 1 if they differ"),
                    flag("--json", &Arguments::json, "print JSON")},
        .examples = {{"ziggurat inspect runs/quickstart", "list the checkpoints of a run"},
                     {"ziggurat inspect runs/quickstart --verify", "verify all of their bytes"},
                     {"ziggurat inspect data/train.bin", "header and first tokens of a token file"}},
        .problem = problem_of_inspect};
}

CommandRow sample_row() {
    return {
        .command = Command::sample,
        .name = "sample",
        .doc = "Generates text from a checkpoint, on any number of ranks.",
        .positionals = folder_of_run("RUN_DIR"),
        .options = {text_option("--prompt", "TEXT", &Arguments::prompt, "a text that is not empty",
                                "beginning of the text"),
                    whole("--tokens", "N", &Arguments::tokens, std::int64_t{1}, std::int64_t{1} << 20,
                          "number of tokens to generate (default 200)"),
                    text_option("--tokenizer", "PATH", &Arguments::tokenizer, "a path, or bytes",
                                "path of the tokenizer, if it is not in the run or was moved (default: "
                                "the run's)"),
                    add_bos_row("the run's data.add_bos"), temperature_row(),
                    whole("--top-k", "N", &Arguments::top_k, std::int64_t{1}, std::int64_t{1} << 31,
                          "samples from the N most likely tokens (default: from all)"),
                    top_p_row(), stop_row(),
                    whole("--seed", "N", &Arguments::seed, std::uint64_t{0}, UINT64_MAX,
                          "seed of the random numbers (default: the run's)")},
        .examples = {{"ziggurat sample runs/quickstart --prompt 'In the'", "200 tokens"},
                     {"ziggurat sample runs/quickstart --prompt 'In the' --tokens 100 --seed 7",
                      "100 tokens, with another seed"},
                     {"mpirun -n 2 ziggurat sample runs/a/ckpt/step-000001000 --prompt 'In the'",
                      "from one checkpoint, on two ranks"}},
        .problem = [](const Arguments& arguments, const GivenOptions&) {
            return arguments.folder.empty() ? problem_of_folder(arguments)
                   : arguments.prompt.empty()
                       ? "no prompt is given (the first token is predicted from it). Give --prompt 'a few "
                         "words'."
                       : "";
        }};
}

CommandRow eval_row() {
    return {
        .command = Command::eval,
        .name = "eval",
        .doc =
            "Evaluates a checkpoint: loss, perplexity or multiple-choice accuracy, on any number of ranks.",
        .positionals = folder_of_run("RUN_DIR"),
        .options = {text_option("--data", "FILE", &Arguments::data, "a file, a pattern or a path",
                                "file, or a pattern such as 'data/*.bin'; megatron: the path without "
                                "its suffix (default: the run's validation data)"),
                    one_of("--format", "NAME", &Arguments::format, {"text", "llmc", "megatron", "raw"},
                           "format of --data: text, llmc, megatron or raw (default: text for a byte-level "
                           "model, and for a run with a tokenizer if the file is not a .bin; else llmc)"),
                    one_of("--dtype", "TYPE", &Arguments::dtype, {"uint16", "uint32"},
                           "type of a token with --format raw: uint16 or uint32"),
                    text_option(
                        "--task", "FILE", &Arguments::task, "a file of JSON lines",
                        "JSON lines with HellaSwag's fields ctx, endings and label; picks the most likely "
                        "ending, by sum and by mean of its tokens' log-probabilities"),
                    text_option("--tokenizer", "PATH", &Arguments::tokenizer, "a path, or bytes",
                                "path of the tokenizer, if it is not in the run or was moved (default: "
                                "the run's)"),
                    add_bos_row("the run's data.add_bos"),
                    text_option("--choices", "FILE", &Arguments::choices, "a file",
                                "with --task: writes the choice of each task to FILE, as JSON lines"),
                    one_of("--compute", "TYPE", &Arguments::compute, {"fp32", "bf16"},
                           "number type of weights, activations and products: fp32 or bf16 (default: the "
                           "run's precision.compute)"),
                    flag("--json", &Arguments::json, "print JSON")},
        .examples = {{"ziggurat eval runs/quickstart", "validation loss and perplexity"},
                     {"mpirun -n 2 ziggurat eval runs/a --data 'data/*.bin' --json",
                      "on token files, on two ranks, with JSON output"},
                     {"ziggurat eval runs/a --task hellaswag_val.jsonl --tokenizer models/a",
                      "multiple choice by likelihood"}},
        .problem = problem_of_eval};
}

}  // namespace ziggurat::app
