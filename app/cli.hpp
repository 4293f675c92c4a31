/// The command line: what is asked, as plain data.
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

/// What one call of the program asks for. A field that its command does not have keeps its default.
struct Arguments {
    Command command = Command::check;
    std::string deck;                        ///< path; may be empty for `check --explain`
    std::vector<std::string> overrides;      ///< `path.to.key=value`
    std::optional<int> ranks;                ///< check, plan: as if on so many; none: those of nodes
    std::string machine;                     ///< check, plan, slurm: name or file; empty: this machine
    bool print = false;                      ///< check: the effective deck on stdout
    std::string explain;                     ///< check: a key to explain
    bool program = false;                    ///< plan: the step program; else a summary
    int rank = 0;                            ///< plan: whose program
    std::string unit;                        ///< plan: its ops alone
    std::string lane;                        ///< plan: its ops alone
    std::string kind;                        ///< plan: ops of it alone
    std::optional<std::pair<int, int>> ops;  ///< plan: from one place of the program to another
    bool all = false;                        ///< plan: every op
    bool json = false;                       ///< check, plan, inspect, eval, doctor: for programs to read
    std::string variant = "train";           ///< plan: which variant of the program
    bool backup = false;                     ///< train: begins afresh beside checkpoints that are kept aside
    std::string folder;                 ///< inspect, sample, eval: a run, its ckpt folder, or one checkpoint
    bool tensors = false;               ///< inspect: list the tensors
    std::string tensor;                 ///< inspect: show the numbers of one
    bool verify = false;                ///< inspect: check every byte
    std::string other;                  ///< inspect: compare with this one
    std::string prompt;                 ///< sample: what the text begins with
    std::int64_t tokens = 200;          ///< sample: how many to add
    double temperature = 0.8;           ///< sample: 0 takes the most likely token
    std::int64_t top_k = 0;             ///< sample: draws from so many of the most likely tokens; 0: all
    double top_p = 1;                   ///< sample: draws from the fewest that have this probability
    std::vector<std::string> ends;      ///< sample: texts before which it ends
    std::optional<std::uint64_t> seed;  ///< sample: none: that of the run
    std::string data;                   ///< eval: file, pattern, or path without suffix
    std::string task;                   ///< eval: file of multiple-choice tasks
    std::string choices;                ///< eval: a file for what is chosen; empty: none
    std::string compute;                ///< eval: fp32 or bf16; empty: as trained
    std::string format;                 ///< eval: empty: text where the model reads bytes, llmc otherwise;
                                        ///< tokenize: llmc or megatron
    std::string tokenizer;              ///< tokenize, sample, eval: file, or folder that has it; `bytes`
    std::string add_bos;  ///< tokenize, sample, eval: auto, true or false; empty: that of the run, or auto
    std::string field;    ///< tokenize: of JSON lines; empty: text, of inputs that are such
    std::string input;    ///< tokenize: auto, text or jsonl; empty: auto
    bool skip_bad_lines = false;               ///< tokenize
    int threads = 0;                           ///< tokenize: 0: one for each core
    std::string source;                        ///< import: the folder of a model
    std::string target;                        ///< import: the folder of a run; export: that of a model
    std::string dtype;                         ///< export: empty: as it came or was computed; eval: of raw:
                                               ///< uint16 or uint32
    std::string base;                          ///< export: of adapters; empty: as the run knows it
    bool merge = false;                        ///< export: adapters into the weights beside them
    std::int64_t shard_bytes = 5'000'000'000;  ///< export: most of tensors in one file
    std::vector<std::string>
        paths;                   ///< bench io, doctor: folders; doctor: decks; tokenize: texts; others: runs
    std::string out;             ///< plot, report: the file; empty: beside the first run's metrics;
                                 ///< tokenize: what the token files are called
    bool terminal = false;       ///< plot: with characters
    bool table = false;          ///< plot: runs side by side, in words
    std::string csv;             ///< plot: a file for its numbers; `-`: standard output
    std::string png;             ///< plot: a file for its pixels
    std::string axis = "steps";  ///< plot, report: steps, tokens or time
    std::string from, to;        ///< plot, report: part of the axis; empty: without a limit
    std::int64_t smooth = 1;     ///< plot, report: steps of a running mean
    bool log = false;            ///< plot, report: logarithmic axes
    bool mpi = false;            ///< doctor: over all ranks that were started
    bool once = false;           ///< top: no screen that goes on
    std::int64_t size_bytes = std::int64_t{1} << 30;  ///< bench io: of the file in each
    std::string machine_file;           ///< bench io: where results are kept; empty: the user's own
    std::optional<int> nodes;           ///< check, plan: as if on so many; slurm; none: one
    std::optional<int> tasks_per_node;  ///< slurm; none: as the machine, or the deck, wants
    std::optional<int> gpus_per_node;   ///< slurm; none: one for each rank, where the deck computes on GPUs
    std::string time = "24:00:00";      ///< slurm
    std::string account;                ///< slurm; empty: the user's own
    std::string partition;              ///< slurm; empty: the cluster's own
    std::string job_name;               ///< slurm; empty: that of the run
    std::string line;                   ///< the whole command, for the banner
};

/// Where there is nothing to run: help or version was printed, or the line was wrong and the reason was
/// printed.
struct Done {
    int exit_code = 0;
};

std::variant<Arguments, Done> parse_command_line(int argc, char** argv);

}  // namespace ziggurat::app
