/// The commands that read a deck: check, train, plan, slurm.
#include <fmt/format.h>

#include <climits>
#include <filesystem>
#include <span>
#include <system_error>

#include "app/job_size.hpp"
#include "app/option_rows.hpp"
#include "base/printable.hpp"
#include "deck/slurm/batch_script.hpp"

namespace ziggurat::app {
namespace {

std::vector<PositionalRow> deck_and_overrides() {
    return {
        {"DECK",
         "the YAML deck that says what to train, and how it is spread; or the folder of a run, whose deck it "
         "then is",
         [](Arguments& arguments, const std::string& word) { arguments.deck = word; }},
        {"KEY=VALUE...", "takes the place of the deck's value, as train.steps=100",
         [](Arguments& arguments, const std::string& word) { arguments.overrides.push_back(word); }}};
}

OptionRow ranks_row() {
    return whole("--ranks", "N", &Arguments::ranks, 1, most_ranks,
                 "as if started on so many ranks (default: as one node has, or the deck wants)");
}

OptionRow nodes_row() {
    return whole("--nodes", "N", &Arguments::nodes, 1, most_ranks,
                 "as if on so many nodes, each with as many ranks as the machine has, or the deck wants");
}

OptionRow machine_row() {
    return text_option("--machine", "NAME", &Arguments::machine, "the name of a machine, or a file",
                       "as if on this machine: a name in decks/machines, or a file");
}

/// What to write instead of `key: value`, `key value`, or the words `key` and `value`.
///
/// \param rest  the overrides after `word`, which may be its value
std::string advice_on(const std::string& word, std::span<const std::string> rest) {
    if (!rest.empty() && rest.front() == "=") {
        rest = rest.subspan(1);  // of `key = value`
    }
    const auto next = rest.empty() ? std::string{} : rest.front();
    const auto end = word.find_first_of(": ");
    const auto key = word.substr(0, end);
    const auto first = end == std::string::npos ? end : word.find_first_not_of(": ", end);
    const auto value = first != std::string::npos            ? word.substr(first)
                       : next.find('=') == std::string::npos ? next
                                                             : "";
    if (key.find('.') == std::string::npos || value.empty()) {
        return "Give one command, one deck, then overrides.";
    }
    return "Write " + key + "=" + (value.find(' ') == std::string::npos ? value : "'" + value + "'") + ".";
}

/// What is wrong with a line that names a deck.
std::string problem_of_deck(const Arguments& arguments) {
    if (arguments.deck.empty()) {
        return "no deck is given. Name one, for instance decks/quickstart.yaml.";
    }
    std::error_code unreadable;
    if (arguments.deck.find('=') != std::string::npos &&
        !std::filesystem::exists(arguments.deck, unreadable)) {
        return "no deck is given ('" + arguments.deck + "' is an override). Give the deck first.";
    }
    for (std::size_t i = 0; i < arguments.overrides.size(); ++i) {
        const std::string& word = arguments.overrides[i];
        if (word.find('=') == std::string::npos || word.front() == '=') {
            return "'" + word + "' is not an override (key=value). " +
                   advice_on(word, std::span{arguments.overrides}.subspan(i + 1));
        }
    }
    return "";
}

/// The same, where options say on what it is as if started.
std::string problem_of_job(const Arguments& arguments) {
    const int ranks = arguments.ranks.value_or(0);
    const int nodes = arguments.nodes.value_or(1);
    return ranks % nodes == 0 ? problem_of_deck(arguments)
                              : fmt::format(
                                    "--ranks {} cannot be spread evenly over --nodes {}. Give a "
                                    "multiple, or leave out one of them.",
                                    ranks, nodes);
}

std::string problem_of_check(const Arguments& arguments, const Given& given) {
    if (!given.has("--explain")) {
        return given.has("--json") && given.has("--print")
                   ? "--json and --print are two forms of an answer. Ask for one."
                   : problem_of_job(arguments);
    }
    const bool is_alone = given.options.size() == 1 && given.positionals == 0;
    return is_alone ? "" : "--explain says what a key means and reads no deck. Leave out everything else.";
}

/// `12-20`, or `12` for one.
OptionRow ops_row() {
    return {"--ops", "A-B", "places of the program such as 12-20, or one place",
            "print ops from place A to B, as numbered by --all",
            [](Arguments& arguments, const std::string& text) {
                const auto dash = text.find('-');
                const auto first = number_in(text.substr(0, dash), 0, INT_MAX);
                const auto last =
                    dash == std::string::npos ? first : number_in(text.substr(dash + 1), 0, INT_MAX);
                if (!first || !last || *last < *first) {
                    return false;
                }
                arguments.ops = {*first, *last};
                return true;
            }};
}

std::string problem_of_plan(const Arguments& arguments, const Given& given) {
    if (const auto problem = problem_of_job(arguments); !problem.empty()) {
        return problem;
    }
    for (const char* option :
         {"--rank", "--variant", "--unit", "--lane", "--kind", "--ops", "--all", "--json"}) {
        if (given.has(option) && !given.has("--program")) {
            return fmt::format("{} is about what a rank does in a step. Add --program.", option);
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

OptionRow time_row() {
    return {"--time", "T", "a time as Slurm has it, such as 90 (minutes), 12:00:00 or 2-00 (days-hours)",
            "how long one start of the job may take (default 24:00:00)",
            [](Arguments& arguments, const std::string& text) {
                arguments.time = text;
                return deck::slurm_seconds(text).has_value();
            }};
}

std::string problem_of_slurm(const Arguments& arguments, const Given&) {
    if (const auto problem = problem_of_deck(arguments); !problem.empty()) {
        return problem;
    }
    for (const auto& text : {arguments.account, arguments.partition, arguments.job_name}) {
        if (printable(text) != text) {
            return "'" + text + "' cannot stand in a batch script. Use characters that can be printed.";
        }
    }
    if (arguments.tasks_per_node.value_or(1) > most_ranks / arguments.nodes.value_or(1)) {
        return "--nodes x --ntasks-per-node are more than " + std::to_string(most_ranks) +
               " ranks. Ask for fewer.";
    }
    return "";
}

}  // namespace

CommandRow check_row() {
    return {
        .command = Command::check,
        .name = "check",
        .doc = "Says whether a deck is right and fits, and what it means. Starts nothing.",
        .positionals = deck_and_overrides(),
        .options = {ranks_row(), nodes_row(), machine_row(),
                    flag("--print", &Arguments::print,
                         "print the effective deck: every value, and where it comes from"),
                    flag("--json", &Arguments::json, "all answers as JSON; decks/CHECK.md has the fields"),
                    text_option("--explain", "KEY", &Arguments::explain, "a key of the deck",
                                "explain one key of the deck, without a deck")},
        .examples = {{"ziggurat check decks/quickstart.yaml", "is it right, does it fit, what does it mean?"},
                     {"ziggurat check decks/quickstart.yaml --ranks 2 --print",
                      "every value in effect on two ranks, and where it comes from"},
                     {"ziggurat check --explain sharding.zero", "what a key means and takes"}},
        .problem = problem_of_check};
}

CommandRow train_row() {
    return {
        .command = Command::train,
        .name = "train",
        .doc = "Trains, on the ranks that mpirun or srun starts; without them on one.",
        .positionals = deck_and_overrides(),
        .options = {flag("--backup", &Arguments::backup,
                         "with run.resume=never: keep the checkpoints of an earlier run in run.dir aside")},
        .examples = {{"ziggurat train decks/quickstart.yaml", "in this process"},
                     {"mpirun -n 2 ziggurat train decks/quickstart.yaml train.steps=100",
                      "on two ranks, one value changed"},
                     {"ziggurat train runs/quickstart train.steps=4000",
                      "goes on with a run as it was, for longer, where its folder lies now"}},
        .problem = [](const Arguments& arguments, const Given&) { return problem_of_deck(arguments); }};
}

CommandRow plan_row() {
    return {
        .command = Command::plan,
        .name = "plan",
        .doc = "Shows memory, time and what a rank will do, on any number of ranks. Starts nothing.",
        .positionals = deck_and_overrides(),
        .options = {ranks_row(), nodes_row(), machine_row(),
                    flag("--program", &Arguments::program,
                         "print what a rank does in a step: a summary, on GPUs with launches and bytes of "
                         "kernels, or the ops that are asked for"),
                    whole("--rank", "R", &Arguments::rank, 0, most_ranks - 1, "whose program (default 0)"),
                    one_of("--variant", "NAME", &Arguments::variant, {"train", "evaluate"},
                           "which program: train (default) or evaluate"),
                    text_option("--unit", "NAME", &Arguments::unit, "the name of a unit, such as layers.0",
                                "print its ops: embedding, layers.0 ... head; step: of no unit"),
                    text_option("--lane", "NAME", &Arguments::lane, "the name of a lane, such as compute",
                                "print its ops: compute, collective, nvme_read ..."),
                    text_option("--kind", "NAME", &Arguments::kind, "a kind of op, such as all_gather",
                                "print ops of that kind: compute, all_gather, update ..."),
                    ops_row(), flag("--all", &Arguments::all, "print every op"),
                    flag("--json", &Arguments::json, "every op as JSON")},
        .examples = {{"ziggurat plan decks/systems/gpipe-84b.yaml --machine dgx-a100 --nodes 16",
                      "does it fit there, and how long does it take?"},
                     {"ziggurat plan decks/quickstart.yaml --ranks 2 --program",
                      "what rank 0 of two does, by unit and lane"},
                     {"ziggurat plan decks/quickstart.yaml --ranks 2 --program --rank 1 --lane collective",
                      "when rank 1 communicates"}},
        .problem = problem_of_plan};
}

CommandRow slurm_row() {
    return {
        .command = Command::slurm,
        .name = "slurm",
        .doc = "Prints a batch script for Slurm that trains a deck in as many turns as it takes.",
        .positionals = deck_and_overrides(),
        .options =
            {whole("--nodes", "N", &Arguments::nodes, 1, most_ranks, "so many nodes (default 1)"),
             whole("--ntasks-per-node", "N", &Arguments::tasks_per_node, 1, most_ranks,
                   "so many ranks on each (default: as the machine has, or the deck wants)"),
             time_row(),
             text_option("--account", "NAME", &Arguments::account, "the name of an account",
                         "who pays for it"),
             text_option("--partition", "NAME", &Arguments::partition, "the name of a partition",
                         "where it runs"),
             text_option("--job-name", "NAME", &Arguments::job_name, "a name",
                         "what it is called (default: run.name)"),
             whole("--gpus-per-node", "N", &Arguments::gpus_per_node, 1, most_ranks,
                   "so many GPUs on each node (default: one for each rank, where the deck computes on GPUs)"),
             machine_row()},
        .examples = {{"ziggurat slurm decks/systems/zero-offload-13b.yaml --machine v100-32gb",
                      "on a node as a file describes it; to be kept in a file, for sbatch"},
                     {"ziggurat slurm decks/quickstart.yaml --ntasks-per-node 2 --time 2:00:00",
                      "two ranks, in turns of two hours; sbatch also takes it by a pipe"},
                     {"ziggurat slurm decks/sharded.yaml --nodes 2 --ntasks-per-node 4 --account physics "
                      "train.steps=500",
                      "who pays, and one value changed"}},
        .problem = problem_of_slurm};
}

}  // namespace ziggurat::app
