/// Commands that read a deck and train nothing: check, plan, slurm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/command_line/command_row.hpp"

namespace ziggurat::app {

/// Deck of a command line.
struct JobDeck {
    std::string deck;                    ///< path; may be empty for `check --explain`
    std::vector<std::string> overrides;  ///< `path.to.key=value`
};

/// Job whose size is assumed, not started.
struct PlannedJob : JobDeck {
    std::optional<int> ranks;  ///< empty: ranks of `nodes`
    std::optional<int> nodes;  ///< empty: one
    std::string machine;       ///< name or file; empty: this machine
};

struct CheckOptions : Options, PlannedJob {
    bool print = false;    ///< print only the effective deck on standard output
    bool json = false;     ///< print only one JSON object with all results
    bool search = false;   ///< search for remedies without a limit of time
    bool longest = false;  ///< also find the longest sequences that fit
    std::string explain;   ///< key to describe; then the deck is not read
};

struct PlanOptions : Options, PlannedJob {
    bool time = false;                       ///< print only the planned time of a step
    std::string trace;                       ///< file for the trace of the planned step; empty: none
    std::string html;                        ///< file for a page of the planned step; empty: none
    bool search = false;                     ///< search for the fastest layout that fits
    std::string write;                       ///< file for the deck of the fastest layout; empty: none
    bool recompute = false;                  ///< compare choices of recomputation
    std::string machines;                    ///< compared machines, separated by commas; empty: none
    std::optional<std::int64_t> tokens;      ///< with machines: tokens to train on; empty: as the deck
    std::string objective;                   ///< with machines or search; empty: its default
    bool program = false;                    ///< print the step program, not a summary
    std::optional<int> rank;                 ///< rank of the program; empty: 0
    std::string variant = "train";           ///< variant of the program: train or evaluate
    std::string unit;                        ///< print ops of this unit only
    std::string lane;                        ///< print ops of this lane only
    std::string kind;                        ///< print ops of this kind only
    std::optional<std::pair<int, int>> ops;  ///< first and last op to print
    bool all = false;                        ///< print every op
    bool json = false;                       ///< print the plan, every op, or the time, as JSON
};

struct SlurmOptions : Options, JobDeck {
    int nodes = 1;
    std::optional<int> tasks_per_node;  ///< empty: from the machine, or the deck's degrees
    std::optional<int> gpus_per_node;   ///< empty: one per rank if the deck computes on GPUs
    std::string time = "24:00:00";
    std::string account;    ///< empty: the user's default
    std::string partition;  ///< empty: the cluster's default
    std::string job_name;   ///< empty: name of the run
    std::string sweep;  ///< folder of the runs of a job array, one per combination of values; empty: one run
    std::string machine;  ///< name or file; empty: this machine
};

CommandRowOf<CheckOptions> check_row();
CommandRowOf<PlanOptions> plan_row();
CommandRowOf<SlurmOptions> slurm_row();

/// Prints the errors of a deck, or its meaning and its memory. Never starts MPI.
int check(const CheckOptions& options);

/// Prints planned memory and time of a run, or the step program of a rank. Never starts MPI.
int plan(const PlanOptions& options);

/// Prints a batch script that trains a deck under Slurm. Never starts MPI.
int slurm(const SlurmOptions& options);

}  // namespace ziggurat::app
