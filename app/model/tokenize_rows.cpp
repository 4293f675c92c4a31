/// Table row of the command that makes token files from texts: tokenize.
#include "app/command_line/option_rows.hpp"
#include "app/model/model_options.hpp"

namespace ziggurat::app {

CommandRowOf<TokenizeOptions> tokenize_row() {
    constexpr int max_threads = 1024;
    return {
        .name = "tokenize",
        .doc =
            "Writes token files from texts with a Hugging Face or SentencePiece tokenizer, or byte by byte. "
            "Resumes if interrupted.",
        .positionals = {{"FILE...",
                         "text files (one document each) or JSON lines (one document per line), also as "
                         "gzip or zstd, and pipes",
                         [](TokenizeOptions& options, const std::string& value) {
                             options.paths.push_back(value);
                         }}},
        .options = {text_option("--tokenizer", "PATH", &TokenizeOptions::tokenizer, "a path, or bytes",
                                "a tokenizer.json, a SentencePiece .model, or the folder of a model that "
                                "has one; bytes: one token per byte"),
                    text_option(
                        "--out", "NAME", &TokenizeOptions::out, "a name",
                        "output: NAME.bin, for megatron also NAME.idx; NAME.journal until it is complete"),
                    one_of("--format", "FORMAT", &TokenizeOptions::format, {"llmc", "megatron"},
                           "format of the token files: llmc or megatron"),
                    add_bos_row(&TokenizeOptions::add_bos, "auto"),
                    text_option("--field", "KEY", &TokenizeOptions::field, "the name of a field",
                                "JSON field with the text (default: text); every FILE is then JSON lines"),
                    one_of(
                        "--input", "KIND", &TokenizeOptions::input, {"auto", "text", "jsonl"},
                        "kind of each FILE: text, one document; jsonl, one document per line; auto, by its "
                        "name and its first lines (default)"),
                    flag("--skip-bad-lines", &TokenizeOptions::skip_bad_lines,
                         "skip JSON lines without a document, count them and name the first (default: stop "
                         "at the first)"),
                    whole("--threads", "N", &TokenizeOptions::threads, 1, max_threads,
                          "number of encoding threads (default: one per core)")},
        .examples =
            {{"ziggurat tokenize text/*.txt --tokenizer models/mine --out data/train --format llmc",
              "data/train.bin"},
             {"ziggurat tokenize wiki.json.zst --tokenizer models/mine --out wiki --format llmc --field body "
              "--skip-bad-lines",
              "wiki.bin, without the lines that cannot be read"},
             {"ziggurat tokenize book.txt --tokenizer bytes --out book --format llmc --threads 1",
              "book.bin, one token per byte"}},
        .problem = [](const TokenizeOptions& options, const GivenOptions& given) -> std::string {
            return options.paths.empty() ? "no text is given. Name a file."
                   : options.input == "text" && given.has("--field")
                       ? "--field names a field of JSON lines, which --input text excludes. Leave one out."
                   : !given.has("--tokenizer") ? "no tokenizer is given. Give --tokenizer."
                   : !given.has("--out")       ? "no output is given. Give --out NAME."
                   : !given.has("--format")    ? "no format is given. Give --format llmc or megatron."
                                               : "";
        }};
}

}  // namespace ziggurat::app
