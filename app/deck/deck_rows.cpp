/// Table rows of the commands that read a deck: check, train, plan, slurm.
#include <fmt/format.h>

#include <climits>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "app/command_line/option_rows.hpp"
#include "app/deck/deck_options.hpp"
#include "app/deck/job_size.hpp"
#include "app/start/train_options.hpp"
#include "base/text/printable.hpp"
#include "deck/slurm/batch_script.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::app {
namespace {

PositionalRowOf<JobDeck> deck_row() {
    return {
        "DECK",
        "YAML deck with the model, the data and the parallel layout; or the folder of a run, whose deck is "
        "used",
        [](JobDeck& job, const std::string& value) { job.deck = value; }};
}

PositionalRowOf<JobDeck> overrides_row() {
    return {"KEY=VALUE...", "overrides a value of the deck, for example train.steps=100",
            [](JobDeck& job, const std::string& value) { job.overrides.push_back(value); }};
}

OptionRowOf<PlannedJob> ranks_row() {
    return whole("--ranks", "N", &PlannedJob::ranks, 1, max_ranks,
                 "number of ranks to assume (default: those of one node, or of the deck's degrees)");
}

OptionRowOf<PlannedJob> nodes_row() {
    return whole("--nodes", "N", &PlannedJob::nodes, 1, max_ranks,
                 "number of nodes to assume; ranks per node come from the machine or the deck's degrees");
}

template <class O>
OptionRowOf<O> machine_row(std::string O::*field) {
    return text_option("--machine", "NAME", field, "the name of a machine, or a file",
                       "machine to assume: a name in decks/machines, or a file (default: this machine)");
}

/// Returns a correction for `key: value`, `key value`, or the two arguments `key` and `value`.
///
/// \param rest  the overrides after `given`; the first may be its value
std::string advice_on(const std::string& given, std::span<const std::string> rest) {
    if (!rest.empty() && rest.front() == "=") {
        rest = rest.subspan(1);  // the form `key = value`
    }
    const auto next = rest.empty() ? std::string{} : rest.front();
    const auto end = given.find_first_of(": ");
    const auto key = given.substr(0, end);
    const auto first = end == std::string::npos ? end : given.find_first_not_of(": ", end);
    const auto value = first != std::string::npos            ? given.substr(first)
                       : next.find('=') == std::string::npos ? next
                                                             : "";
    if (key.find('.') == std::string::npos || value.empty()) {
        return "Give one command, one deck, then overrides.";
    }
    return "Write " + key + "=" + (value.find(' ') == std::string::npos ? value : "'" + value + "'") + ".";
}

/// Returns the error of a command line that takes a deck; empty if it is valid.
std::string problem_of_deck(const JobDeck& job) {
    if (job.deck.empty()) {
        return "no deck is given. Name one, for instance decks/quickstart.yaml.";
    }
    std::error_code unreadable;
    if (job.deck.find('=') != std::string::npos && !std::filesystem::exists(job.deck, unreadable)) {
        return "no deck is given ('" + job.deck + "' is an override). Give the deck first.";
    }
    for (std::size_t i = 0; i < job.overrides.size(); ++i) {
        const std::string& value = job.overrides[i];
        if (value.find('=') == std::string::npos || value.front() == '=') {
            return "'" + value + "' is not an override (key=value). " +
                   advice_on(value, std::span{job.overrides}.subspan(i + 1));
        }
    }
    return "";
}

/// Returns problem_of_deck(), or an error if --ranks is not a multiple of --nodes.
std::string problem_of_job(const PlannedJob& job) {
    const int ranks = job.ranks.value_or(0);
    const int nodes = job.nodes.value_or(1);
    return ranks % nodes == 0 ? problem_of_deck(job)
                              : fmt::format(
                                    "--ranks {} is not a multiple of --nodes {}. Give a "
                                    "multiple, or leave out one of them.",
                                    ranks, nodes);
}

std::string problem_of_check(const CheckOptions& options, const GivenOptions& given) {
    if (!given.has("--explain")) {
        return given.has("--json") && given.has("--print")
                   ? "--json and --print exclude each other. Leave out one of them."
                   : problem_of_job(options);
    }
    const bool is_alone = given.options.size() == 1 && given.positionals == 0;
    return is_alone ? "" : "--explain describes a key and reads no deck. Leave out all other arguments.";
}

/// Option --ops: `12-20`, or `12` for one op.
OptionRowOf<PlanOptions> ops_row() {
    return {"--ops", "A-B", "a range of op numbers from 0 to 2147483647 such as 12-20, or one number",
            "print ops A to B, as numbered by --all", [](PlanOptions& options, const std::string& text) {
                const auto dash = text.find('-');
                const auto first = number_in(text.substr(0, dash), 0, INT_MAX);
                const auto last =
                    dash == std::string::npos ? first : number_in(text.substr(dash + 1), 0, INT_MAX);
                if (!first || !last || *last < *first) {
                    return false;
                }
                options.ops = {*first, *last};
                return true;
            }};
}

/// Option --tokens: `300B`.
OptionRowOf<PlanOptions> tokens_row() {
    constexpr std::int64_t max_tokens = 1'000'000'000'000'000'000;
    return {"--tokens", "N", "a number of tokens from 1 to 10^18, such as 300B (10^9)",
            "with --machines: train on N tokens (default: as the deck)",
            [](PlanOptions& options, const std::string& text) {
                options.tokens = deck::read_integer(text);
                return options.tokens.value_or(0) > 0 && *options.tokens <= max_tokens;
            }};
}

/// Returns the error of options that --machines needs or excludes; empty without one.
std::string problem_of_machines(const GivenOptions& given) {
    if (given.has("--tokens") && !given.has("--machines")) {
        return "--tokens is for the comparison of machines. Add --machines.";
    }
    for (const char* option :
         {"--machine", "--ranks", "--time", "--search", "--recompute", "--program", "--json"}) {
        if (given.has(option) && given.has("--machines")) {
            return fmt::format("--machines and {} exclude each other. Leave out one of them.", option);
        }
    }
    return "";
}

/// Returns the error of an objective that does not belong to the command; empty without one.
std::string problem_of_objective(const PlanOptions& options, const GivenOptions& given) {
    const bool is_for_search = options.objective == "memory" || options.objective == "time";
    const bool is_for_machines = options.objective != "memory";
    if (!given.has("--objective") || (given.has("--machines") && is_for_machines) ||
        (given.has("--search") && is_for_search)) {
        return "";
    }
    return fmt::format("--objective {} sorts {}. Add {}.", options.objective,
                       !is_for_machines ? "layouts"
                       : is_for_search  ? "jobs or layouts"
                                        : "jobs",
                       !is_for_machines ? "--search"
                       : is_for_search  ? "--machines or --search"
                                        : "--machines");
}

std::string problem_of_plan(const PlanOptions& options, const GivenOptions& given) {
    if (const auto problem = problem_of_job(options); !problem.empty()) {
        return problem;
    }
    if (const auto problem = problem_of_machines(given); !problem.empty()) {
        return problem;
    }
    if (const auto problem = problem_of_objective(options, given); !problem.empty()) {
        return problem;
    }
    if (given.has("--rank") && !given.has("--program") && (!given.has("--json") || given.has("--time"))) {
        return "--rank selects the rank of a step program. Add --program or --json.";
    }
    for (const char* option : {"--variant", "--unit", "--lane", "--kind", "--ops", "--all"}) {
        if (given.has(option) && !given.has("--program")) {
            return fmt::format("{} selects ops of a step program. Add --program.", option);
        }
    }
    for (const auto& [one, other] : {std::pair{"--time", "--program"},
                                     {"--search", "--program"},
                                     {"--search", "--time"},
                                     {"--search", "--json"},
                                     {"--recompute", "--program"},
                                     {"--recompute", "--time"},
                                     {"--recompute", "--search"},
                                     {"--recompute", "--json"}}) {
        if (given.has(one) && given.has(other)) {
            return fmt::format("{} and {} exclude each other. Leave out one of them.", one, other);
        }
    }
    if (given.has("--write") && !given.has("--search")) {
        return "--write stores the deck of the first layout. Add --search.";
    }
    for (const char* option : {"--trace", "--html"}) {
        if (given.has(option) && !given.has("--time")) {
            return fmt::format("{} writes a file about the planned step. Add --time.", option);
        }
    }
    for (const char* option : {"--unit", "--lane", "--kind", "--ops"}) {
        if (given.has(option) && given.has("--all")) {
            return std::string{"--all prints every op. Leave out "} + option + ", or --all.";
        }
    }
    for (const char* option : {"--unit", "--lane", "--kind", "--ops", "--all"}) {
        if (given.has(option) && given.has("--json")) {
            return std::string{"--json has every op. Leave out "} + option + ".";
        }
    }
    return "";
}

OptionRowOf<SlurmOptions> time_row() {
    return {"--time", "T", "a time in Slurm's format, such as 90 (minutes), 12:00:00 or 2-00 (days-hours)",
            "time limit of each start of the job (default 24:00:00)",
            [](SlurmOptions& options, const std::string& text) {
                options.time = text;
                return deck::slurm_seconds(text).has_value();
            }};
}

std::string problem_of_slurm(const SlurmOptions& options, const GivenOptions&) {
    if (const auto problem = problem_of_deck(options); !problem.empty()) {
        return problem;
    }
    for (const auto& text : {options.account, options.partition, options.job_name}) {
        if (printable(text) != text) {
            return "'" + text + "' is not valid in a batch script. Use printable characters.";
        }
    }
    if (options.tasks_per_node.value_or(1) > max_ranks / options.nodes) {
        return "--nodes x --ntasks-per-node is more than " + std::to_string(max_ranks) +
               " ranks. Ask for fewer.";
    }
    return "";
}

}  // namespace

CommandRowOf<CheckOptions> check_row() {
    return {
        .name = "check",
        .doc = "Checks a deck: values, memory, meaning. Does not train.",
        .positionals = {deck_row(), overrides_row()},
        .options = {ranks_row(), nodes_row(), machine_row(&PlannedJob::machine),
                    flag("--print", &CheckOptions::print,
                         "print the effective deck: every value and its origin"),
                    flag("--longest", &CheckOptions::longest,
                         "also find the longest sequences (data.seq) with which the layout fits"),
                    flag("--search", &CheckOptions::search,
                         "if the deck does not fit: try all changes, not only for some seconds"),
                    flag("--json", &CheckOptions::json, "print all results as JSON (fields: decks/CHECK.md)"),
                    text_option("--explain", "KEY", &CheckOptions::explain, "a key of the deck",
                                "describe one key; reads no deck")},
        .examples = {{"ziggurat check decks/quickstart.yaml", "is it valid, does it fit?"},
                     {"ziggurat check decks/quickstart.yaml --ranks 2 --print",
                      "every effective value on two ranks, and its origin"},
                     {"ziggurat check --explain sharding.zero", "meaning and values of a key"}},
        .problem = problem_of_check};
}

CommandRowOf<TrainOptions> train_row() {
    return {
        .name = "train",
        .doc = "Trains on the ranks that mpirun or srun starts; without a launcher, on one rank.",
        .computes = true,
        .positionals = {deck_row(), overrides_row()},
        .options = {flag("--backup", &TrainOptions::backup,
                         "with run.resume=never: rename the checkpoints of an earlier run in run.dir")},
        .examples = {{"ziggurat train decks/quickstart.yaml", "one rank, in this process"},
                     {"mpirun -n 2 ziggurat train decks/quickstart.yaml train.steps=100",
                      "on two ranks, one value changed"},
                     {"ziggurat train runs/quickstart train.steps=4000",
                      "resume a run with its own deck, for more steps"}},
        .problem = [](const TrainOptions& options, const GivenOptions&) { return problem_of_deck(options); }};
}

CommandRowOf<PlanOptions> plan_row() {
    return {
        .name = "plan",
        .doc = "Shows planned memory, time and step program, for any number of ranks. Does not train.",
        .positionals = {deck_row(), overrides_row()},
        .options =
            {ranks_row(),
             nodes_row(),
             machine_row(&PlannedJob::machine),
             flag("--time", &PlanOptions::time,
                  "print only the time of a step and what it consists of, without memory"),
             text_option("--trace", "FILE", &PlanOptions::trace, "a file",
                         "with --time: write every op of the planned step for Perfetto, for the folder of "
                         "a run next to its measured steps"),
             text_option("--html", "FILE", &PlanOptions::html, "a file",
                         "with --time: write a page with the lanes and the memory of the planned step, "
                         "for the folder of a run next to its last measured step"),
             flag("--search", &PlanOptions::search,
                  "search for the fastest layouts that fit: degrees, schedule, ZeRO stage or spans, "
                  "micro-batch and recomputation"),
             text_option("--write", "FILE", &PlanOptions::write, "a file",
                         "with --search: write the deck of the first layout"),
             flag("--recompute", &PlanOptions::recompute,
                  "compare the kinds of recomputation with a greedy and an exact choice per op and layer, "
                  "for the device's budget (needs cbc)"),
             text_option("--machines", "A,B", &PlanOptions::machines,
                         "names or files of machines, separated by commas; A:PRICE sets the price of a "
                         "node for an hour",
                         "compare jobs on machines, with up to --nodes nodes (default 64) and the fastest "
                         "layout of each"),
             tokens_row(),
             one_of(
                 "--objective", "NAME", &PlanOptions::objective, {"time", "cost", "energy", "memory"},
                 "with --machines: sort jobs by time, cost (default) or energy; with --search: sort layouts "
                 "by time (default) or memory, the peak bytes of the fullest device, then of the fullest "
                 "node's host and NVMe"),
             flag("--program", &PlanOptions::program,
                  "print the step program of a rank: a summary (on GPUs with kernel launches and "
                  "bytes), or selected ops"),
             whole("--rank", "R", &PlanOptions::rank, 0, max_ranks - 1,
                   "with --program or --json: rank of the program (default 0)"),
             one_of("--variant", "NAME", &PlanOptions::variant, {"train", "evaluate"},
                    "program variant: train (default) or evaluate"),
             text_option("--unit", "NAME", &PlanOptions::unit, "the name of a unit, such as layers.0",
                         "print ops of a unit: embedding, layers.0 ... head; step: without a unit"),
             text_option("--lane", "NAME", &PlanOptions::lane, "the name of a lane, such as compute",
                         "print ops of a lane: compute, collective, nvme_read ..."),
             text_option("--kind", "NAME", &PlanOptions::kind, "a kind of op, such as all_gather",
                         "print ops of a kind: compute, all_gather, update ..."),
             ops_row(),
             flag("--all", &PlanOptions::all, "print every op"),
             flag("--json", &PlanOptions::json,
                  "print the plan, every op (--program) or the time (--time) as JSON (fields: "
                  "decks/PLAN.md)")},
        .examples =
            {{"ziggurat plan decks/systems/gpipe-84b.yaml --machine dgx-a100 --nodes 16",
              "does it fit on that machine, and how long does it take?"},
             {"ziggurat plan decks/gpt-175b.yaml --machine dgx-a100 --ranks 1024 --search --write fast.yaml",
              "the ten fastest layouts that fit; the first one as a deck"},
             {"ziggurat plan decks/quickstart.yaml --ranks 2 --program",
              "summary of rank 0's program, by unit and lane"}},
        .problem = problem_of_plan};
}

CommandRowOf<SlurmOptions> slurm_row() {
    return {
        .name = "slurm",
        .doc = "Prints a Slurm batch script that trains a deck and requeues until done.",
        .positionals = {deck_row(), overrides_row()},
        .options = {whole("--nodes", "N", &SlurmOptions::nodes, 1, max_ranks, "number of nodes (default 1)"),
                    whole("--ntasks-per-node", "N", &SlurmOptions::tasks_per_node, 1, max_ranks,
                          "ranks per node (default: from the machine, or from the deck's degrees)"),
                    time_row(),
                    text_option("--account", "NAME", &SlurmOptions::account, "the name of an account",
                                "Slurm account"),
                    text_option("--partition", "NAME", &SlurmOptions::partition, "the name of a partition",
                                "Slurm partition"),
                    text_option("--job-name", "NAME", &SlurmOptions::job_name, "a name",
                                "name of the job (default: run.name)"),
                    whole("--gpus-per-node", "N", &SlurmOptions::gpus_per_node, 1, max_ranks,
                          "GPUs per node (default: one per rank if the deck computes on GPUs)"),
                    text_option(
                        "--sweep", "FOLDER", &SlurmOptions::sweep, "a path",
                        "a job array: one run in FOLDER for each combination of values with commas, as "
                        "in ziggurat sweep"),
                    machine_row(&SlurmOptions::machine)},
        .examples = {{"ziggurat slurm decks/systems/zero-offload-13b.yaml --machine v100-32gb",
                      "for a node described by a machine file; save the output and submit it with sbatch"},
                     {"ziggurat slurm decks/quickstart.yaml optimizer.lr=1e-4,3e-4 --sweep runs/rates "
                      "--ntasks-per-node 2",
                      "a job array of two runs; ziggurat sweep runs/rates --table compares them"},
                     {"ziggurat slurm decks/sharded.yaml --nodes 2 --ntasks-per-node 4 --account physics "
                      "train.steps=500",
                      "with an account and one value changed"}},
        .problem = problem_of_slurm};
}

}  // namespace ziggurat::app
