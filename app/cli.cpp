#include "app/cli.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "app/version.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "deck/nearest.hpp"
#include "deck/units.hpp"

namespace ziggurat::app {
namespace {

constexpr int wrong_line = static_cast<int>(ErrorKind::deck);
constexpr int most_ranks = 1'000'000;

constexpr const char* examples = R"(Examples:
  ziggurat check decks/quickstart.yaml                      is the deck right, does it fit, what does it mean?
  ziggurat check decks/quickstart.yaml --ranks 2 --print    the same for 2 ranks, with every value in effect
  ziggurat check --explain sharding.zero                    what a key means and takes
  ziggurat train decks/quickstart.yaml                      train in this process
  mpirun -n 2 ziggurat train decks/quickstart.yaml train.steps=100
                                                            on two ranks, one value changed
  ziggurat plan decks/quickstart.yaml --ranks 2 --program   what each rank will do, op by op
  ziggurat inspect runs/quickstart                          which checkpoints there are
  ziggurat sample runs/quickstart --prompt 'In the' --tokens 100
                                                            a text by the newest of them
  mpirun -n 2 ziggurat eval runs/quickstart --data held_out.txt
                                                            its loss on a file, on two ranks
  ziggurat bench io /nvme0 /nvme1                           how fast disks are, with which blocks; decks use it

Exit codes: 0 done; 1 what inspect --diff compares is not the same; 2 deck or command line; 3 memory, disk or device;
4 checkpoint; 5 numerics; 6 communication; 70 a bug; 75 stopped as asked, run me again.)";

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
    const std::string nearest = deck::nearest(word, {known.begin(), known.end()});
    return nearest.empty() ? "" : " Did you mean '" + nearest + "'?";
}

Done refuse(const std::string& problem, const std::string& command) {
    std::fprintf(stderr, "ziggurat: error: %s See 'ziggurat%s --help'.\n", printable(problem).c_str(),
                 (command.empty() ? "" : " " + command).c_str());
    return {wrong_line};
}

std::vector<std::string> options_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    return names;
}

std::string joined(int argc, char** argv) {
    std::string line = "ziggurat";
    for (int i = 1; i < argc; ++i) {
        line += std::string{" "} + argv[i];
    }
    return line;
}

/// What is wrong with a line that names a deck.
std::optional<std::string> problem_of_deck(const Arguments& arguments) {
    for (const std::string& word : arguments.overrides) {
        if (word.find('=') == std::string::npos || word.front() == '=') {
            return "'" + word + "' is not an override (path.to.key=value). Give one deck, then overrides.";
        }
    }
    if (arguments.deck.find('=') != std::string::npos && !std::filesystem::exists(arguments.deck)) {
        return "no deck is given ('" + arguments.deck + "' is an override). Give the deck first.";
    }
    if (arguments.deck.empty() && arguments.explain.empty()) {
        return "no deck is given. Name one, for instance decks/quickstart.yaml.";
    }
    if (arguments.command == Command::plan && !arguments.program) {
        return "nothing is asked of 'plan'. Add --program to see what a rank will do.";
    }
    return std::nullopt;
}

/// What is wrong with a line that names a folder of checkpoints.
std::optional<std::string> problem_of_folder(const Arguments& arguments) {
    if (arguments.folder.empty()) {
        return "no folder is given. Name that of a run, for instance runs/quickstart, or one checkpoint.";
    }
    const int asked = static_cast<int>(arguments.tensors) + static_cast<int>(!arguments.tensor.empty()) +
                      static_cast<int>(arguments.verify) + static_cast<int>(!arguments.other.empty());
    if (asked > 1) {
        return "--tensors, --tensor, --verify and --diff are four questions. Ask one at a time.";
    }
    if (arguments.command == Command::sample && arguments.prompt.empty()) {
        return "there is no prompt (the first token is predicted from it). Give --prompt 'a few words'.";
    }
    if (arguments.command == Command::eval && arguments.data.empty()) {
        return "there is nothing to evaluate on. Give --data FILE.";
    }
    return std::nullopt;
}

/// Whatever is neither an option of the command nor an argument that it takes.
std::optional<std::string> problem_of(const CLI::App& command, const Arguments& arguments) {
    for (const std::string& word : command.remaining()) {
        if (word.starts_with("-")) {
            const std::string name = word.substr(0, word.find('='));
            return "'" + command.get_name() + "' has no option '" + name + "'." +
                   suggestion(name, options_of(command));
        }
        return "'" + word + "' is one argument too many. Quote a text with spaces.";
    }
    if (arguments.command == Command::bench_io) {
        return arguments.paths.empty()
                   ? std::optional<std::string>{"no folder is given. Name one on each disk."}
                   : std::nullopt;
    }
    const bool reads_deck = arguments.command == Command::check || arguments.command == Command::train ||
                            arguments.command == Command::plan;
    return reads_deck ? problem_of_deck(arguments) : problem_of_folder(arguments);
}

/// Refuses an empty text, which would count as none.
std::string something(const std::string& text) {
    return text.empty() ? "must not be empty" : "";
}

void add_inspect(CLI::App& app, Arguments& arguments) {
    CLI::App* inspect = app.add_subcommand(
        "inspect", "Show what checkpoints hold, check them, or compare two. Starts nothing.");
    inspect->allow_extras();
    inspect->add_option("DIR", arguments.folder, "the folder of a run, its ckpt folder, or one checkpoint");
    inspect->add_flag("--tensors", arguments.tensors, "list the tensors: name, shape, type, pieces");
    inspect
        ->add_option("--tensor", arguments.tensor,
                     "what the numbers of one are like: least, greatest, mean, norm, the first few")
        ->check(something);
    inspect->add_flag("--verify", arguments.verify,
                      "check every byte of every checkpoint; exit code 4 when one is damaged");
    inspect
        ->add_option("--diff", arguments.other,
                     "compare with this one, tensor by tensor; exit code 1 when a tensor or the progress "
                     "differs")
        ->check(something);
    inspect->add_flag("--json", arguments.json, "as JSON");
}

void add_sample(CLI::App& app, Arguments& arguments) {
    CLI::App* sample = app.add_subcommand(
        "sample", "Let the newest checkpoint of a run go on with a text, on any number of ranks.");
    sample->allow_extras();
    sample->add_option("RUN_DIR", arguments.folder,
                       "the folder of a run, its ckpt folder, or one checkpoint");
    sample->add_option("--prompt", arguments.prompt, "what the text begins with");
    sample->add_option("--tokens", arguments.tokens, "how many to add (default 200)")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
    sample
        ->add_option("--temperature", arguments.temperature,
                     "divides the logits (default 0.8); 0 takes the most likely token")
        ->check(CLI::Range(0.0, 100.0))
        ->check([](const std::string& text) {
            return text.find("nan") == std::string::npos ? "" : "is no number";
        });
    sample->add_option("--seed", arguments.seed, "another one gives another text (default: the run's)")
        ->check(CLI::NonNegativeNumber);
}

void add_eval(CLI::App& app, Arguments& arguments) {
    CLI::App* eval = app.add_subcommand(
        "eval", "The loss of the newest checkpoint of a run on other data, on any number of ranks.");
    eval->allow_extras();
    eval->add_option("RUN_DIR", arguments.folder, "the folder of a run, its ckpt folder, or one checkpoint");
    eval->add_option("--data", arguments.data,
                     "file, or a pattern such as 'data/*.bin'; megatron: the path without its suffix");
    eval->add_option("--format", arguments.format,
                     "text, llmc or megatron (default: text for a model of bytes, llmc for others)")
        ->check(CLI::IsMember({"text", "llmc", "megatron"}));
    eval->add_flag("--json", arguments.json, "as JSON");
}

void add_bench(CLI::App& app, Arguments& arguments) {
    CLI::App* bench = app.add_subcommand("bench", "Measure this machine. Starts nothing.");
    bench->allow_extras();
    CLI::App* io = bench->add_subcommand(
        "io",
        "How fast disks are, by the size and number of blocks; kept in the machine file of this machine.");
    io->allow_extras();
    io->add_option("PATH", arguments.paths, "a folder on each disk that is to be used at the same time");
    io->add_option_function<std::string>(
        "--size",
        [&arguments](const std::string& text) {
            const auto bytes = deck::read_bytes(text);
            if (!bytes || *bytes < (1 << 20)) {
                throw CLI::ValidationError("--size", "'" + text +
                                                         "' is not a size of at least 1MiB with its unit, "
                                                         "such as 512MiB");
            }
            arguments.size_bytes = *bytes;
        },
        "of the file in each folder (default 1GiB); it is gone at the end, whatever ends it");
    io->add_option(
          "--machine-file", arguments.machine_file,
          "where results are kept (default: machine-HOST.yaml in ~/.config/ziggurat, which check and "
          "train read)")
        ->check(something);
}

Command command_of(const std::string& name) {
    return name == "train"     ? Command::train
           : name == "plan"    ? Command::plan
           : name == "inspect" ? Command::inspect
           : name == "sample"  ? Command::sample
           : name == "eval"    ? Command::eval
           : name == "io"      ? Command::bench_io
                               : Command::check;
}

}  // namespace

std::variant<Arguments, Done> parse_command_line(int argc, char** argv) {
    Arguments arguments;
    arguments.line = joined(argc, argv);
    CLI::App app{
        "Ziggurat trains transformer language models whose state is larger than the memory of the GPUs.",
        "ziggurat"};
    app.footer(examples);
    app.set_version_flag("--version", [] { return "ziggurat " + version() + "\n" + library_versions(); });
    app.allow_extras();

    const auto add_command = [&](const char* name, const char* doc) {
        CLI::App* command = app.add_subcommand(name, doc);
        command->allow_extras();
        command->add_option("DECK", arguments.deck,
                            "the YAML deck that says what to train, and how it is spread");
        command->add_option("OVERRIDES", arguments.overrides,
                            "path.to.key=value: takes the place of the deck's value");
        return command;
    };
    const auto add_machine = [&](CLI::App* command) {
        command->add_option("--ranks", arguments.ranks, "as if started on so many ranks")
            ->check(CLI::Range(1, most_ranks));
        command->add_option("--machine", arguments.machine,
                            "as if on this machine: a name in decks/machines, or a file");
    };
    CLI::App* check =
        add_command("check", "Say whether a deck is right and fits, and what it means. Starts nothing.");
    add_machine(check);
    check->add_flag("--print", arguments.print,
                    "print the effective deck: every value, and where it comes from");
    check->add_option("--explain", arguments.explain,
                      "explain one key of the deck, for instance sharding.zero");
    CLI::App* train = add_command("train", "Train. Start it by mpirun or srun for more than one rank.");
    train->add_flag("--backup", arguments.backup,
                    "with run.resume=never: keep the checkpoints of an earlier run in run.dir aside");
    CLI::App* plan = add_command("plan", "Show what a run will do, without MPI, for any number of ranks.");
    add_machine(plan);
    plan->add_flag("--program", arguments.program, "print the step program of one rank");
    plan->add_option("--rank", arguments.rank, "whose program (default 0)")
        ->check(CLI::Range(0, most_ranks - 1));
    plan->add_flag("--json", arguments.json, "as JSON");
    plan->add_option("--variant", arguments.variant, "which program: train (default) or evaluate");

    add_inspect(app, arguments);
    add_sample(app, arguments);
    add_eval(app, arguments);
    add_bench(app, arguments);

    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
        return Done{app.exit(success)};
    } catch (const CLI::ParseError& error) {
        return refuse(std::string{error.what()} + ".", "");
    }
    const CLI::App* chosen = app.get_subcommands().empty() ? nullptr : app.get_subcommands().front();
    if (chosen == nullptr) {
        if (app.remaining().empty()) {
            std::fputs(app.help().c_str(), stderr);
            return Done{wrong_line};
        }
        const std::string word = app.remaining().front();
        std::vector<std::string> known = options_of(app);
        known.insert(known.end(), {"check", "train", "plan", "inspect", "sample", "eval", "bench"});
        return refuse("there is no " + std::string{word.starts_with("-") ? "option" : "command"} + " '" +
                          word + "'." + suggestion(word, known),
                      "");
    }
    if (chosen->get_name() == "bench") {
        if (chosen->get_subcommands().empty()) {
            return refuse("nothing is asked of 'bench'. Name what to measure: io.", "bench");
        }
        chosen = chosen->get_subcommands().front();
    }
    arguments.command = command_of(chosen->get_name());
    if (const auto problem = problem_of(*chosen, arguments)) {
        return refuse(*problem, chosen->get_name());
    }
    return arguments;
}

}  // namespace ziggurat::app
