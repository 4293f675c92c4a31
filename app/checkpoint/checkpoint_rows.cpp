/// Table rows of the commands that read checkpoints: inspect, sample, eval.
#include <cmath>
#include <utility>

#include "app/checkpoint/checkpoint_options.hpp"
#include "app/command_line/option_rows.hpp"
#include "spec/home_text.hpp"

namespace ziggurat::app {
namespace {

constexpr double hottest = 100;

PositionalRowOf<ModelChoice> folder_row() {
    return {"RUN_DIR", "the folder of a run, its ckpt folder, or one checkpoint",
            [](ModelChoice& options, const std::string& value) { options.folder = value; }};
}

std::string problem_of_folder(const ModelChoice& options) {
    return options.folder.empty()
               ? "no folder is given. Name the folder of a run (such as runs/quickstart) or a checkpoint."
               : "";
}

std::string problem_of_inspect(const InspectOptions& options, const GivenOptions& given) {
    const std::size_t asked = given.options.size() - (given.has("--json") ? 1 : 0);
    if (options.folder.empty()) {
        return "no path is given. Name the folder of a run (such as runs/quickstart), a checkpoint or "
               "a token file.";
    }
    const bool of_samples = given.has("--tokenizer") || given.has("--sample");
    if (of_samples && std::cmp_less(given.has("--tokenizer") + given.has("--sample"), asked)) {
        return "--tokenizer and --sample are for sample files. Leave out the options for checkpoints.";
    }
    return asked > 1 && !of_samples
               ? "--tensors, --tensor, --verify, --diff and --html exclude each other. Give one of them."
               : "";
}

std::string problem_of_eval(const EvalOptions& options, const GivenOptions& given) {
    if (options.folder.empty()) {
        return problem_of_folder(options);
    }
    if (given.has("--data") && given.has("--task")) {
        return "--data and --task exclude each other. Give one at a time.";
    }
    if (!given.has("--task") && given.has("--kv-cache")) {
        return "--kv-cache requires --task (other data are read without a cache). Leave it out.";
    }
    if (!given.has("--task") && given.has("--choices")) {
        return "--choices requires --task (other data have no choices). Leave it out.";
    }
    if (!given.has("--data") && given.has("--format")) {
        return given.has("--task") ? "--format requires --data (a task is JSON lines). Leave it out."
                                   : "--format requires --data (the run's deck has the format of its own "
                                     "data). Leave it out, or give --data FILE.";
    }
    if (given.has("--dtype") != (options.format == "raw")) {
        return given.has("--dtype")
                   ? "--dtype requires --format raw (other formats store the type). Leave it out."
                   : "raw files do not store the type of their numbers. Add --dtype uint16 or "
                     "--dtype uint32.";
    }
    return given.has("--choices") && options.choices == options.task
               ? "--choices would overwrite the file of --task. Name another file."
               : "";
}

OptionRowOf<ModelChoice> tokenizer_row() {
    return text_option("--tokenizer", "PATH", &ModelChoice::tokenizer, "a path, or bytes",
                       "path of the tokenizer, if it is not in the run or was moved (default: the run's)");
}

OptionRowOf<ModelChoice> compute_row() {
    return one_of("--compute", "TYPE", &ModelChoice::compute, {"fp32", "bf16"},
                  "number type of weights, activations and products: fp32 or bf16 (default: the run's "
                  "precision.compute)");
}

OptionRowOf<ModelChoice> average_row() {
    return flag("--average", &ModelChoice::average,
                "uses the average of the weights (train.average) instead of the weights");
}

OptionRowOf<ModelChoice> kv_cache_row() {
    return {"--kv-cache", "HOME", "device, host, nvme or nvme:DIR",
            "home of the KV cache: device, host, nvme (the run's folders) or nvme:DIR (default: the run's "
            "tiers.home.kv_cache)",
            [](ModelChoice& options, const std::string& text) {
                options.kv_cache = text;
                return spec::find_tier(text) || (text.starts_with("nvme:") && text != "nvme:");
            }};
}

OptionRowOf<SampleOptions> temperature_row() {
    return {"--temperature", "T", "a number from 0 to 100",
            "divides the logits (default 0.8); 0 takes the most likely token",
            [](SampleOptions& options, const std::string& text) {
                const auto number = number_in(text, 0.0, hottest);
                options.temperature = number.value_or(0);
                return number.has_value();
            }};
}

OptionRowOf<SampleOptions> top_p_row() {
    return {"--top-p", "P", "a number above 0, up to 1",
            "nucleus sampling: the smallest set of tokens with this total probability (default 1: all)",
            [](SampleOptions& options, const std::string& text) {
                const auto number = number_in(text, 0.0, 1.0);
                options.top_p = number.value_or(1);
                return number.has_value() && *number > 0;
            }};
}

OptionRowOf<SampleOptions> stop_row() {
    return {"--stop", "TEXT", "a text that is not empty", "stops before this text",
            [](SampleOptions& options, const std::string& text) {
                if (!text.empty()) {
                    options.ends.push_back(text);
                }
                return !text.empty();
            }};
}

}  // namespace

CommandRowOf<InspectOptions> inspect_row() {
    return {
        .name = "inspect",
        .doc = "Shows, verifies and compares checkpoints, and shows token files.",
        .positionals = {{"PATH",
                         "the folder of a run, its ckpt folder, a checkpoint, or a token or sample file",
                         [](InspectOptions& options, const std::string& value) { options.folder = value; }}},
        .options =
            {flag("--tensors", &InspectOptions::tensors, "list the tensors: name, shape, type, pieces"),
             text_option("--tensor", "NAME", &InspectOptions::tensor, "the name of a tensor",
                         "statistics of a tensor: minimum, maximum, mean, norm, first values"),
             flag("--verify", &InspectOptions::verify,
                  "verify every byte of every checkpoint; exit code 4 if one is corrupt"),
             text_option("--diff", "DIR", &InspectOptions::other, "the folder of a run, or one checkpoint",
                         "compare with this checkpoint, tensor by tensor; exit code 1 if they differ"),
             text_option("--html", "FILE", &InspectOptions::html, "a file",
                         "of a run: write a page with the lanes and the memory of its last step, next to "
                         "the planned one; lanes of the run need run.trace=true"),
             text_option("--tokenizer", "PATH", &InspectOptions::tokenizer, "a path, or bytes",
                         "of a sample file: shows the text of a sample instead of its token ids"),
             whole("--sample", "N", &InspectOptions::sample, std::int64_t{0}, std::int64_t{1} << 40,
                   "of a sample file: the sample to show (default 0)"),
             flag("--json", &InspectOptions::json, "print JSON")},
        .examples = {{"ziggurat inspect runs/quickstart", "list the checkpoints of a run"},
                     {"ziggurat inspect data/train.bin", "header and first tokens of a token file"},
                     {"ziggurat inspect chats.samples --tokenizer model --sample 3",
                      "a conversation, with the tokens that count in the loss"}},
        .problem = problem_of_inspect};
}

CommandRowOf<SampleOptions> sample_row() {
    return {
        .name = "sample",
        .doc = "Generates text from a checkpoint, on any number of ranks.",
        .computes = true,
        .has_short_ops = true,
        .positionals = {folder_row()},
        .options =
            {text_option("--prompt", "TEXT", &SampleOptions::prompt, "a text that is not empty",
                         "beginning of the text"),
             text_option("--prompts", "FILE", &SampleOptions::prompts, "a file of JSON lines, or -",
                         "prompts as JSON lines, {\"prompt\": ...} or {\"messages\": [...]} with the chat "
                         "template; -: standard input. Prints one JSON line for each prompt"),
             whole("--answers", "N", &SampleOptions::answers, std::int64_t{1}, std::int64_t{1} << 16,
                   "number of texts after each prompt, with other random numbers (default 1)"),
             whole("--tokens", "N", &SampleOptions::tokens, std::int64_t{1}, std::int64_t{1} << 20,
                   "number of tokens to generate (default 200)"),
             tokenizer_row(), add_bos_row(&ModelChoice::add_bos, "the run's data.add_bos"), temperature_row(),
             whole("--top-k", "N", &SampleOptions::top_k, std::int64_t{1}, std::int64_t{1} << 31,
                   "samples from the N most likely tokens (default: from all)"),
             top_p_row(), stop_row(), compute_row(), average_row(), kv_cache_row(),
             whole("--seed", "N", &SampleOptions::seed, std::uint64_t{0}, UINT64_MAX,
                   "seed of the random numbers (default: the run's)"),
             flag("--chat", &SampleOptions::is_chat,
                  "the prompt is a user's message: renders it with the chat template, generates to the "
                  "end of the turn and prints the answer alone; without a prompt, answers each line of "
                  "standard input (/reset, /quit). Needs python3 with jinja2"),
             text_option("--system", "TEXT", &SampleOptions::system, "a text that is not empty",
                         "with --chat or --prompts: system message of conversations without one"),
             text_option(
                 "--template", "CHOICE", &SampleOptions::chat_template, "auto, a file, or a name",
                 "with --chat or --prompts: auto, a Jinja file, or the name of a template of the tokenizer "
                 "(default: that of the run's conversations, else auto)")},
        .examples = {{"ziggurat sample runs/quickstart --prompt 'In the'", "200 tokens"},
                     {"ziggurat sample runs/tuned --chat --prompt 'Why is the sky blue?'", "an answer"},
                     {"mpirun -n 2 ziggurat sample runs/a/ckpt/step-000001000 --prompt 'In the'",
                      "from one checkpoint, on two ranks"}},
        .problem = [](const SampleOptions& options, const GivenOptions& given) -> std::string {
            for (const char* option : {"--system", "--template"}) {
                if (!options.is_chat && options.prompts.empty() && given.has(option)) {
                    return std::string{option} + " requires --chat or --prompts. Add one, or leave it out.";
                }
            }
            if (options.is_chat && given.has("--add-bos")) {
                return "--add-bos excludes --chat (the template has the begin-of-text token). Leave one out.";
            }
            if (!options.prompt.empty() && !options.prompts.empty()) {
                return "--prompt and --prompts exclude each other. Give one of them.";
            }
            const bool has_prompt = !options.prompt.empty() || !options.prompts.empty();
            if (!has_prompt && options.is_chat && given.has("--answers")) {
                return "--answers requires --prompt or --prompts (a conversation has one answer to each "
                       "turn). "
                       "Leave it out.";
            }
            return options.folder.empty() ? problem_of_folder(options)
                   : !has_prompt && !options.is_chat
                       ? "no prompt is given (the first token is predicted from it). Give --prompt 'a few "
                         "words', --prompts FILE, or --chat for a conversation."
                       : "";
        }};
}

CommandRowOf<EvalOptions> eval_row() {
    return {
        .name = "eval",
        .doc =
            "Evaluates a checkpoint: loss, perplexity or multiple-choice accuracy, on any number of ranks.",
        .computes = true,
        .positionals = {folder_row()},
        .options =
            {text_option("--data", "FILE", &EvalOptions::data, "a file, a pattern or a path",
                         "file, or a pattern such as 'data/*.bin'; megatron: the path without "
                         "its suffix (default: the run's validation data)"),
             one_of(
                 "--format", "NAME", &EvalOptions::format, {"text", "llmc", "megatron", "raw", "chat"},
                 "format of --data: text, llmc, megatron, raw or chat (default: chat for .samples; text for "
                 "a byte-level model, and for a run with a tokenizer if the file is not a .bin; else llmc)"),
             one_of("--dtype", "TYPE", &EvalOptions::dtype, {"uint16", "uint32"},
                    "type of a token with --format raw: uint16 or uint32"),
             text_option("--task", "FILE", &EvalOptions::task, "a file of JSON lines",
                         "JSON lines with HellaSwag's fields ctx, endings and label; picks the most likely "
                         "ending, by sum and by mean of its tokens' log-probabilities"),
             tokenizer_row(), add_bos_row(&ModelChoice::add_bos, "the run's data.add_bos"),
             text_option("--choices", "FILE", &EvalOptions::choices, "a file",
                         "with --task: writes the choice of each task to FILE, as JSON lines"),
             compute_row(), average_row(), kv_cache_row(), flag("--json", &EvalOptions::json, "print JSON")},
        .examples = {{"ziggurat eval runs/quickstart", "validation loss and perplexity"},
                     {"mpirun -n 2 ziggurat eval runs/a --data 'data/*.bin' --json",
                      "on token files, on two ranks, with JSON output"},
                     {"ziggurat eval runs/a --task hellaswag_val.jsonl --tokenizer models/a",
                      "multiple choice by likelihood"}},
        .problem = problem_of_eval};
}

}  // namespace ziggurat::app
