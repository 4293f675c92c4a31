/// The command that makes token files of texts: tokenize.
#include "app/option_rows.hpp"

namespace ziggurat::app {

CommandRow tokenize_row() {
    constexpr int most_threads = 1024;
    return {
        .command = Command::tokenize,
        .name = "tokenize",
        .doc =
            "Writes token files of texts, by a tokenizer of Hugging Face or SentencePiece or byte by byte. "
            "Goes on where it was when it is run again.",
        .positionals = {{"FILE...",
                         "texts, also in gzip or zstd, and pipes: a document each, or in JSON lines one on "
                         "each line",
                         [](Arguments& arguments, const std::string& word) {
                             arguments.paths.push_back(word);
                         }}},
        .options = {text_option("--tokenizer", "PATH", &Arguments::tokenizer, "a path, or bytes",
                                "a tokenizer.json or a SentencePiece .model, or the folder of a model that "
                                "has one; bytes: a token per byte"),
                    text_option(
                        "--out", "NAME", &Arguments::out, "a name",
                        "what is made: NAME.bin, for megatron NAME.idx too; NAME.journal while it is made"),
                    one_of("--format", "FORMAT", &Arguments::format, {"llmc", "megatron"},
                           "of the token files: llmc or megatron"),
                    add_bos_row("auto"),
                    text_option("--field", "KEY", &Arguments::field, "the name of a field",
                                "of the text in JSON lines (default: text); every FILE is then JSON lines"),
                    one_of(
                        "--input", "KIND", &Arguments::input, {"auto", "text", "jsonl"},
                        "of each FILE: text, a document; jsonl, one on each line; auto, as its name and its "
                        "first lines say (default)"),
                    flag("--skip-bad-lines", &Arguments::skip_bad_lines,
                         "leaves out lines of JSON lines that hold no document, counts them and names the "
                         "first; else one ends the job"),
                    whole("--threads", "N", &Arguments::threads, 1, most_threads,
                          "that encode (default: one for each core)")},
        .examples =
            {{"ziggurat tokenize text/*.txt --tokenizer models/mine --out data/train --format llmc",
              "data/train.bin"},
             {"ziggurat tokenize wiki.json.zst --tokenizer models/mine --out wiki --format llmc --field body "
              "--skip-bad-lines",
              "wiki.bin of the lines that can be read"},
             {"ziggurat tokenize book.txt --tokenizer bytes --out book --format llmc --threads 1",
              "book.bin, a token per byte"}},
        .problem = [](const Arguments& arguments, const Given& given) -> std::string {
            return arguments.paths.empty() ? "no text is given. Name a file."
                   : arguments.input == "text" && given.has("--field")
                       ? "--field names a field of JSON lines, and --input text takes none. Leave one out."
                   : !given.has("--tokenizer") ? "nothing says how text becomes tokens. Give --tokenizer."
                   : !given.has("--out")       ? "nothing says what is made. Give --out NAME."
                   : !given.has("--format") ? "nothing says in which format. Give --format llmc or megatron."
                                            : "";
        }};
}

}  // namespace ziggurat::app
