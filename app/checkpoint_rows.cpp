/// The commands that read checkpoints: inspect, sample, eval.
#include <cmath>

#include "app/option_rows.hpp"

namespace ziggurat::app {
namespace {

constexpr double hottest = 100;

std::vector<PositionalRow> folder_of_run(const char* name) {
    return {{name, "the folder of a run, its ckpt folder, or one checkpoint",
             [](Arguments& arguments, const std::string& word) { arguments.folder = word; }}};
}

std::string problem_of_folder(const Arguments& arguments) {
    return arguments.folder.empty()
               ? "no folder is given. Name that of a run, for instance runs/quickstart, or one checkpoint."
               : "";
}

std::string problem_of_inspect(const Arguments& arguments, const Given& given) {
    const std::size_t asked = given.options.size() - (given.has("--json") ? 1 : 0);
    if (arguments.folder.empty()) {
        return "nothing is named. Name the folder of a run, for instance runs/quickstart, one checkpoint, or "
               "a token file.";
    }
    return asked > 1 ? "--tensors, --tensor, --verify and --diff are four questions. Ask one at a time." : "";
}

std::string problem_of_eval(const Arguments& arguments, const Given& given) {
    if (arguments.folder.empty()) {
        return problem_of_folder(arguments);
    }
    if (given.has("--data") && given.has("--task")) {
        return "--data and --task are two evaluations. Ask for one at a time.";
    }
    if (!given.has("--task") && given.has("--choices")) {
        return "--choices belongs to --task (of other data nothing is chosen). Leave it out.";
    }
    if (!given.has("--data") && given.has("--format")) {
        return given.has("--task") ? "--format belongs to --data (a task is JSON lines). Leave it out."
                                   : "--format belongs to --data (the run's deck says it of its own). Leave "
                                     "it out, or name --data FILE.";
    }
    if (given.has("--dtype") != (arguments.format == "raw")) {
        return given.has("--dtype")
                   ? "--dtype belongs to --format raw (other files say it). Leave it out."
                   : "raw files do not say how their numbers are stored. Add --dtype uint16 or "
                     "--dtype uint32.";
    }
    return given.has("--choices") && arguments.choices == arguments.task
               ? "--choices would be written over the task. Name another file."
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
    return {
        "--top-p", "P", "a number above 0, up to 1",
        "draws from the fewest of the most likely tokens that have this probability (default 1: from all)",
        [](Arguments& arguments, const std::string& text) {
            const auto number = number_in(text, 0.0, 1.0);
            arguments.top_p = number.value_or(1);
            return number.has_value() && *number > 0;
        }};
}

OptionRow stop_row() {
    return {"--stop", "TEXT", "a text that is not empty", "ends before this text",
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
        .doc = "Shows what checkpoints or token files hold, checks and compares checkpoints. Starts nothing.",
        .positionals = {{"PATH", "the folder of a run, its ckpt folder, one checkpoint; or a token file",
                         [](Arguments& arguments, const std::string& word) { arguments.folder = word; }}},
        .options = {flag("--tensors", &Arguments::tensors, "list the tensors: name, shape, type, pieces"),
                    text_option("--tensor", "NAME", &Arguments::tensor, "the name of a tensor",
                                "what its numbers are like: least, greatest, mean, norm, the first few"),
                    flag("--verify", &Arguments::verify,
                         "check every byte of every checkpoint; exit code 4 when one is damaged"),
                    text_option("--diff", "DIR", &Arguments::other, "the folder of a run, or one checkpoint",
                                "compare with this one, tensor by tensor; exit code 1 when they differ"),
                    flag("--json", &Arguments::json, "as JSON")},
        .examples = {{"ziggurat inspect runs/quickstart", "which checkpoints there are"},
                     {"ziggurat inspect runs/quickstart --verify", "is every byte of them right?"},
                     {"ziggurat inspect data/train.bin", "the head of a token file, and its first tokens"}},
        .problem = problem_of_inspect};
}

CommandRow sample_row() {
    return {
        .command = Command::sample,
        .name = "sample",
        .doc = "Lets the newest checkpoint of a run go on with a text, on any number of ranks.",
        .positionals = folder_of_run("RUN_DIR"),
        .options = {text_option("--prompt", "TEXT", &Arguments::prompt, "a text that is not empty",
                                "what the text begins with"),
                    whole("--tokens", "N", &Arguments::tokens, std::int64_t{1}, std::int64_t{1} << 20,
                          "how many to add (default 200)"),
                    text_option("--tokenizer", "PATH", &Arguments::tokenizer, "a path, or bytes",
                                "where that of the run lies now, or of a run that has none (default: the "
                                "run's)"),
                    add_bos_row("the run's data.add_bos"), temperature_row(),
                    whole("--top-k", "N", &Arguments::top_k, std::int64_t{1}, std::int64_t{1} << 31,
                          "draws from so many of the most likely tokens (default: from all)"),
                    top_p_row(), stop_row(),
                    whole("--seed", "N", &Arguments::seed, std::uint64_t{0}, UINT64_MAX,
                          "another one gives another text (default: the run's)")},
        .examples = {{"ziggurat sample runs/quickstart --prompt 'In the'", "200 tokens more"},
                     {"ziggurat sample runs/quickstart --prompt 'In the' --tokens 100 --seed 7",
                      "100, and others"},
                     {"mpirun -n 2 ziggurat sample runs/a/ckpt/step-000001000 --prompt 'In the'",
                      "by one checkpoint, on two ranks"}},
        .problem = [](const Arguments& arguments, const Given&) {
            return arguments.folder.empty() ? problem_of_folder(arguments)
                   : arguments.prompt.empty()
                       ? "there is no prompt (the first token is predicted from it). Give --prompt 'a few "
                         "words'."
                       : "";
        }};
}

CommandRow eval_row() {
    return {
        .command = Command::eval,
        .name = "eval",
        .doc =
            "Says the loss of the newest checkpoint of a run on its validation data or on others, or how "
            "often "
            "it chooses right in a multiple-choice task, on any number of ranks.",
        .positionals = folder_of_run("RUN_DIR"),
        .options = {text_option("--data", "FILE", &Arguments::data, "a file, a pattern or a path",
                                "file, or a pattern such as 'data/*.bin'; megatron: the path without "
                                "its suffix (default: what the run validates on)"),
                    one_of("--format", "NAME", &Arguments::format, {"text", "llmc", "megatron", "raw"},
                           "of --data: text, llmc, megatron or raw (default: text for a model of bytes, and "
                           "where there is a tokenizer and the file is no .bin; else llmc)"),
                    one_of("--dtype", "TYPE", &Arguments::dtype, {"uint16", "uint32"},
                           "of --format raw: how a token is stored, uint16 or uint32"),
                    text_option(
                        "--task", "FILE", &Arguments::task, "a file of JSON lines",
                        "JSON lines with HellaSwag's fields ctx, endings and label: which ending is the "
                        "likeliest, by sum and by mean of its tokens' log-probabilities?"),
                    text_option("--tokenizer", "PATH", &Arguments::tokenizer, "a path, or bytes",
                                "where that of the run lies now, or of a run that has none (default: the "
                                "run's)"),
                    add_bos_row("the run's data.add_bos"),
                    text_option("--choices", "FILE", &Arguments::choices, "a file",
                                "of --task: writes there what is chosen in each, as JSON lines"),
                    one_of("--compute", "TYPE", &Arguments::compute, {"fp32", "bf16"},
                           "number type of weights, activations and products: fp32 or bf16 (default: the "
                           "run's precision.compute)"),
                    flag("--json", &Arguments::json, "as JSON")},
        .examples = {{"ziggurat eval runs/quickstart", "the loss that its validation has, and perplexity"},
                     {"mpirun -n 2 ziggurat eval runs/a --data 'data/*.bin' --json",
                      "on files of tokens, on two ranks, for programs to read"},
                     {"ziggurat eval runs/a --task hellaswag_val.jsonl --tokenizer models/a",
                      "multiple choice by likelihood"}},
        .problem = problem_of_eval};
}

}  // namespace ziggurat::app
