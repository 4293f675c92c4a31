/// Arguments of the command line, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ziggurat::app {

enum class Command {
    check,
    train,
    plan,
    inspect,
    sample,
    eval,
    import_model,
    export_model,
    tokenize,
    plot,
    report,
    top,
    slurm,
    doctor,
    bench_io,
    bench_gpu
};

/// Parsed command line. Fields that the command does not use keep their defaults.
struct Arguments {
    Command command = Command::check;
    std::string deck;                        ///< path; may be empty for `check --explain`
    std::vector<std::string> overrides;      ///< `path.to.key=value`
    std::optional<int> ranks;                ///< check, plan: number of ranks; empty: ranks of `nodes`
    std::string machine;                     ///< check, plan, slurm: name or file; empty: this machine
    bool print = false;                      ///< check: print the effective deck on stdout
    std::string explain;                     ///< check: key to describe
    bool program = false;                    ///< plan: print the step program, not a summary
    int rank = 0;                            ///< plan: rank whose program is printed
    std::string unit;                        ///< plan: print ops of this unit only
    std::string lane;                        ///< plan: print ops of this lane only
    std::string kind;                        ///< plan: print ops of this kind only
    std::optional<std::pair<int, int>> ops;  ///< plan: first and last op to print
    bool all = false;                        ///< plan: print every op
    bool json = false;                       ///< check, plan, inspect, eval, doctor: print JSON
    std::string variant = "train";           ///< plan: variant of the program
    bool backup = false;                     ///< train: rename old checkpoints and start from scratch
    std::string folder;                 ///< inspect, sample, eval: a run, its ckpt folder, or one checkpoint
    bool tensors = false;               ///< inspect: list the tensors
    std::string tensor;                 ///< inspect: show statistics of this tensor
    bool verify = false;                ///< inspect: verify every byte
    std::string other;                  ///< inspect: compare with this checkpoint
    std::string prompt;                 ///< sample: beginning of the text
    std::int64_t tokens = 200;          ///< sample: number of tokens to generate
    double temperature = 0.8;           ///< sample: 0 takes the most likely token
    std::int64_t top_k = 0;             ///< sample: number of most likely tokens to draw from; 0: all
    double top_p = 1;                   ///< sample: total probability of the tokens to draw from
    std::vector<std::string> ends;      ///< sample: texts before which the text stops
    std::optional<std::uint64_t> seed;  ///< sample: empty: seed of the run
    std::string data;                   ///< eval: file, pattern, or path without suffix
    std::string task;                   ///< eval: file of multiple-choice tasks
    std::string choices;                ///< eval: output file for the choices; empty: none
    std::string compute;                ///< eval: fp32 or bf16; empty: as trained
    /// eval: format of `data`; empty: text if the model reads bytes, else llmc. tokenize: llmc or megatron.
    std::string format;
    std::string tokenizer;        ///< tokenize, sample, eval: file, or folder that has it; `bytes`
    std::string add_bos;          ///< tokenize, sample, eval: auto, true or false; empty: of the run, or auto
    std::string field;            ///< tokenize: field of JSON lines; empty: `text`
    std::string input;            ///< tokenize: auto, text or jsonl; empty: auto
    bool skip_bad_lines = false;  ///< tokenize
    int threads = 0;              ///< tokenize: 0: one per core
    std::string source;           ///< import: folder of a model
    std::string target;           ///< import: folder of a run; export: folder of a model
    /// export: number type; empty: of the imported model, or as computed. eval: uint16 or uint32 of raw data.
    std::string dtype;
    std::string base;                          ///< export: base of adapters; empty: recorded by the run
    bool merge = false;                        ///< export: merge adapters into their weights
    std::int64_t shard_bytes = 5'000'000'000;  ///< export: maximum size of tensors per file
    std::vector<std::string>
        paths;  ///< bench io, doctor: folders; doctor: decks; tokenize: texts; others: runs
    /// plot, report: output file; empty: in the folder of the first run's metrics. tokenize: name of the
    /// token files.
    std::string out;
    bool terminal = false;       ///< plot: draw in the terminal
    bool table = false;          ///< plot: print a table of the runs
    std::string csv;             ///< plot: output file for the numbers; `-`: standard output
    std::string png;             ///< plot: output file for a PNG picture
    std::string axis = "steps";  ///< plot, report: steps, tokens or time
    std::string from, to;        ///< plot, report: range of the axis; empty: without a limit
    std::int64_t smooth = 1;     ///< plot, report: steps of a running mean
    bool log = false;            ///< plot, report: logarithmic axes
    bool mpi = false;            ///< doctor: over all ranks that were started
    bool once = false;           ///< top: print once and exit
    std::int64_t size_bytes = std::int64_t{1} << 30;  ///< bench io: size of the file in each folder
    std::string machine_file;           ///< bench io, bench gpu: file for results; empty: the user's file
    std::optional<int> nodes;           ///< check, plan, slurm: number of nodes; empty: one
    std::optional<int> tasks_per_node;  ///< slurm; empty: from the machine, or the deck's degrees
    std::optional<int> gpus_per_node;   ///< slurm; empty: one per rank if the deck computes on GPUs
    std::string time = "24:00:00";      ///< slurm
    std::string account;                ///< slurm; empty: the user's default
    std::string partition;              ///< slurm; empty: the cluster's default
    std::string job_name;               ///< slurm; empty: name of the run
    std::string line;                   ///< the full command, for the banner
};

/// Result if no command is to run: help, version or an error of the command line was printed.
struct EarlyExit {
    int exit_code = 0;
};

std::variant<Arguments, EarlyExit> parse_command_line(int argc, char** argv);

}  // namespace ziggurat::app
