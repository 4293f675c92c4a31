/// Table row of the command that makes token files from texts: tokenize.
#include "app/command_line/option_rows.hpp"
#include "app/model/model_options.hpp"

namespace ziggurat::app {

CommandRowOf<TokenizeOptions> tokenize_row() {
    constexpr int max_threads = 1024;
    return {
        .name = "tokenize",
        .doc =
            "Writes token files from texts with a Hugging Face or SentencePiece tokenizer, or byte by byte; "
            "with --chat, samples with loss masks from conversations. Resumes texts if interrupted.",
        .positionals = {{"FILE...",
                         "text files (one document each) or JSON lines (one document per line), also as "
                         "gzip or zstd, and pipes; with --chat, JSON lines or arrays of records",
                         [](TokenizeOptions& options, const std::string& value) {
                             options.paths.push_back(value);
                         }}},
        .options =
            {text_option("--tokenizer", "PATH", &TokenizeOptions::tokenizer, "a path, or bytes",
                         "a tokenizer.json, a SentencePiece .model, or the folder of a model that "
                         "has one; bytes: one token per byte"),
             text_option(
                 "--out", "NAME", &TokenizeOptions::out, "a name",
                 "output: NAME.bin, for megatron also NAME.idx; NAME.journal until it is complete; with "
                 "--chat NAME.samples"),
             one_of("--format", "FORMAT", &TokenizeOptions::format, {"llmc", "megatron"},
                    "format of the token files: llmc or megatron"),
             add_bos_row(&TokenizeOptions::add_bos, "auto"),
             text_option("--field", "KEY", &TokenizeOptions::field, "the name of a field",
                         "JSON field with the text (default: text); every FILE is then JSON lines"),
             one_of("--input", "KIND", &TokenizeOptions::input, {"auto", "text", "jsonl"},
                    "kind of each FILE: text, one document; jsonl, one document per line; auto, by its "
                    "name and its first lines (default)"),
             flag("--skip-bad-lines", &TokenizeOptions::skip_bad_lines,
                  "skip JSON lines without a document, count them and name the first (default: stop "
                  "at the first)"),
             whole("--threads", "N", &TokenizeOptions::threads, 1, max_threads,
                   "number of encoding threads (default: one per core)"),
             flag("--chat", &TokenizeOptions::is_chat,
                  "each FILE has records: messages, prompt/completion, Alpaca, ShareGPT or text; needs "
                  "python3 with jinja2 for conversations"),
             text_option("--template", "CHOICE", &TokenizeOptions::chat_template, "auto, a file, or a name",
                         "chat template: auto, that of the tokenizer (default); a Jinja file; or the "
                         "name of another template of the tokenizer"),
             one_of("--loss-on", "TURNS", &TokenizeOptions::loss_on, {"assistant", "completion", "all"},
                    "turns that count in the loss: assistant, all turns of the assistant (default); "
                    "completion, the last one; all, every token")},
        .examples =
            {{"ziggurat tokenize text/*.txt --tokenizer models/mine --out data/train --format llmc",
              "data/train.bin"},
             {"ziggurat tokenize wiki.json.zst --tokenizer models/mine --out wiki --format llmc --field body "
              "--skip-bad-lines",
              "wiki.bin, without the lines that cannot be read"},
             {"ziggurat tokenize chats.jsonl --chat --tokenizer models/mine --out chats",
              "chats.samples, for data.train: [{format: chat, path: chats.samples}]"}},
        .problem = [](const TokenizeOptions& options, const GivenOptions& given) -> std::string {
            for (const char* option : {"--format", "--field", "--input", "--add-bos"}) {
                if (options.is_chat && given.has(option)) {
                    return std::string{option} + " is for token files, not for --chat. Leave one out.";
                }
            }
            for (const char* option : {"--template", "--loss-on"}) {
                if (!options.is_chat && given.has(option)) {
                    return std::string{option} + " is for conversations. Add --chat, or leave it out.";
                }
            }
            return options.paths.empty() ? "no text is given. Name a file."
                   : options.input == "text" && given.has("--field")
                       ? "--field names a field of JSON lines, which --input text excludes. Leave one out."
                   : !given.has("--tokenizer") ? "no tokenizer is given. Give --tokenizer."
                   : !given.has("--out")       ? "no output is given. Give --out NAME."
                   : !given.has("--format") && !options.is_chat
                       ? "no format is given. Give --format llmc or megatron."
                       : "";
        }};
}

}  // namespace ziggurat::app
