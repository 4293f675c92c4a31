/// Commands that read and write files of other programs: import, export, tokenize.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/command_line/command_row.hpp"

namespace ziggurat::app {

struct ImportOptions : Options {
    std::string source;    ///< folder of a model
    std::string target;    ///< folder of a run
    std::string job;       ///< keyword of the job of the deck; empty: tokens of any kind
    std::string data;      ///< records or tokens to train on; empty: not known yet
    bool dry_run = false;  ///< read config.json alone, and write nothing
};

struct ExportOptions : Options {
    std::string folder;                        ///< a run, its ckpt folder, or one checkpoint
    std::string target;                        ///< folder of a model
    std::string dtype;                         ///< number type; empty: of the imported model, or as computed
    std::string base;                          ///< base of adapters; empty: recorded by the run
    bool average = false;                      ///< the average of the weights instead of the weights
    bool merge = false;                        ///< merge adapters into their weights
    std::int64_t shard_bytes = 5'000'000'000;  ///< maximum size of tensors per file
};

struct TokenizeOptions : Options {
    std::vector<std::string> paths;  ///< texts
    std::string tokenizer;           ///< file, or folder that has it; `bytes`
    std::string out;                 ///< name of the token files
    std::string format;              ///< llmc or megatron
    std::string add_bos;             ///< auto, true or false; empty: auto
    std::string field;               ///< field of JSON lines; empty: `text`
    std::string input;               ///< auto, text or jsonl; empty: auto
    bool skip_bad_lines = false;
    int threads = 0;            ///< 0: one per core
    bool is_chat = false;       ///< records of conversations to a sample file
    std::string chat_template;  ///< auto, a file, or a name; empty: auto
    std::string loss_on;        ///< keyword of spec::LossOn; empty: assistant
};

CommandRowOf<ImportOptions> import_row();
CommandRowOf<ExportOptions> export_row();
CommandRowOf<TokenizeOptions> tokenize_row();

/// Writes a checkpoint and a deck from a model in the Hugging Face format. Never starts MPI.
int import_model(const ImportOptions& options);

/// Writes a model in the Hugging Face format from a checkpoint. Never starts MPI.
int export_model(const ExportOptions& options);

/// Writes token files from texts, or a sample file from conversations. Never starts MPI.
int tokenize(const TokenizeOptions& options);

/// Writes a sample file from records of conversations; tokenize() calls it for --chat.
int tokenize_chat(const TokenizeOptions& options);

/// Returns the number of threads as given, else one per core that the process may use.
int tokenizing_threads(const TokenizeOptions& options);

}  // namespace ziggurat::app
