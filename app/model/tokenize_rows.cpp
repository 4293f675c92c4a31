/// Table row of the command that makes token files from texts: tokenize.
#include "app/command_line/option_rows.hpp"

namespace ziggurat::app {

CommandRow tokenize_row() {
    constexpr int max_threads = 1024;
    return {
        .command = Command::tokenize,
        .name = "tokenize",
        .doc =
            "Writes token files from texts with a Hugging Face or SentencePiece tokenizer, or byte by byte. "
            "Resumes if interrupted.",
        .positionals = {{"FILE...",
                         "text files (one document each) or JSON lines (one document per line), also as "
                         "gzip or zstd, and pipes",
                         [](Arguments& arguments, const std::string& value) {
                             arguments.paths.push_back(value);
                         }}},
        .options = {text_option("--tokenizer", "PATH", &Arguments::tokenizer, "a path, or bytes",
                                "a tokenizer.json, a SentencePiece .model, or the folder of a model that "
                                "has one; bytes: one token per byte"),
                    text_option(
                        "--out", "NAME", &Arguments::out, "a name",
                        "output: NAME.bin, for megatron also NAME.idx; NAME.journal until it is complete"),
                    one_of("--format", "FORMAT", &Arguments::format, {"llmc", "megatron"},
                           "format of the token files: llmc or megatron"),
                    add_bos_row("auto"),
                    text_option("--field", "KEY", &Arguments::field, "the name of a field",
                                "JSON field with the text (default: text); every FILE is then JSON lines"),
                    one_of(
                        "--input", "KIND", &Arguments::input, {"auto", "text", "jsonl"},
                        "kind of each FILE: text, one document; jsonl, one document per line; auto, by its "
                        "name and its first lines (default)"),
                    flag("--skip-bad-lines", &Arguments::skip_bad_lines,
                         "skip JSON lines without a document, count them and name the first (default: stop "
                         "at the first)"),
                    whole("--threads", "N", &Arguments::threads, 1, max_threads,
                          "number of encoding threads (default: one per core)")},
        .examples =
            {{"ziggurat tokenize text/*.txt --tokenizer models/mine --out data/train --format llmc",
              "data/train.bin"},
             {"ziggurat tokenize wiki.json.zst --tokenizer models/mine --out wiki --format llmc --field body "
              "--skip-bad-lines",
              "wiki.bin, without the lines that cannot be read"},
             {"ziggurat tokenize book.txt --tokenizer bytes --out book --format llmc --threads 1",
              "book.bin, one token per byte"}},
        .problem = [](const Arguments& arguments, const GivenOptions& given) -> std::string {
            return arguments.paths.empty() ? "no text is given. Name a file."
                   : arguments.input == "text" && given.has("--field")
                       ? "--field names a field of JSON lines, which --input text excludes. Leave one out."
                   : !given.has("--tokenizer") ? "no tokenizer is given. Give --tokenizer."
                   : !given.has("--out")       ? "no output is given. Give --out NAME."
                   : !given.has("--format")    ? "no format is given. Give --format llmc or megatron."
                                               : "";
        }};
}

}  // namespace ziggurat::app
