#include "app/cli.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "app/version.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "deck/nearest.hpp"

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

Exit codes: 0 done; 2 deck or command line; 3 memory, disk or device; 4 checkpoint; 5 numerics; 6 communication;
70 a bug; 75 stopped as asked, run me again.)";

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

/// Whatever is neither an option of the command nor an override.
std::optional<std::string> problem_of(const CLI::App& command, const Arguments& arguments) {
    for (const std::string& word : command.remaining()) {
        if (word.starts_with("-")) {
            const std::string name = word.substr(0, word.find('='));
            return "'" + command.get_name() + "' has no option '" + name + "'." +
                   suggestion(name, options_of(command));
        }
    }
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
        command
            ->add_option("--ranks", arguments.ranks, "as if started on so many ranks")

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
    CLI::App* plan = add_command("plan", "Show what a run will do, without MPI, for any number of ranks.");
    add_machine(plan);
    plan->add_flag("--program", arguments.program, "print the step program of one rank");
    plan->add_option("--rank", arguments.rank, "whose program (default 0)")
        ->check(CLI::Range(0, most_ranks - 1));
    plan->add_flag("--json", arguments.json, "as JSON");
    plan->add_option("--variant", arguments.variant, "which program: train (default) or evaluate");

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
        known.insert(known.end(), {"check", "train", "plan"});
        return refuse("there is no " + std::string{word.starts_with("-") ? "option" : "command"} + " '" +
                          word + "'." + suggestion(word, known),
                      "");
    }
    arguments.command = chosen == train ? Command::train : chosen == plan ? Command::plan : Command::check;
    if (const auto problem = problem_of(*chosen, arguments)) {
        return refuse(*problem, chosen->get_name());
    }
    return arguments;
}

}  // namespace ziggurat::app
