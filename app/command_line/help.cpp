#include <algorithm>

#include "app/command_line/command_table.hpp"
#include "deck/schema/family_texts.hpp"

namespace ziggurat::app {
namespace {

constexpr std::size_t widest_name = 22;

constexpr const char* introduction_text =
    R"(Ziggurat trains transformer language models, sharded over the ranks of an MPI job.

It runs on CPU cores: data, tensor, sequence, context and pipeline parallelism in any combination, all ZeRO stages,
state in device, host or NVMe memory, checkpoints that any number of ranks can resume, jobs under Slurm.
It runs on one GPU; several GPUs have only been emulated.
Model families: )";

constexpr const char* exit_codes_text =
    R"(Exit codes: 0 done; 1 inspect --diff found differences; 2 deck or command line; 3 memory, disk, ranks or device;
4 checkpoint; 5 numerics; 6 MPI or a peer; 70 a bug; 75 stopped on request, training is not finished.
)";

/// Returns `  NAME   doc`; a long name gets its own line.
std::string entry(const std::string& name, const std::string& doc) {
    const std::size_t width = widest_name + 2;
    const std::string begin = "  " + name;
    return name.size() > widest_name ? begin + "\n" + std::string(width + 2, ' ') + doc + "\n"
                                     : begin + std::string(width - name.size(), ' ') + doc + "\n";
}

std::string examples_of(const std::vector<Example>& examples) {
    std::size_t widest = 0;
    for (const auto& example : examples) {
        widest = std::max(widest, example.line.size());
    }
    std::string text = "\nExamples:\n";
    for (const auto& example : examples) {
        text += "  " + example.line + std::string(widest + 2 - example.line.size(), ' ') + example.doc + "\n";
    }
    return text;
}

}  // namespace

std::string introduction() {
    return introduction_text + deck::all_families_or() + ".\n";
}

std::string exit_codes() {
    return exit_codes_text;
}

std::string help_of_program() {
    std::string text = introduction();
    text += "\nUsage: ziggurat COMMAND ...\n\nCommands (ziggurat COMMAND --help prints its options):\n";
    for (const auto& row : commands()) {
        text += entry(row.name, row.doc);
    }
    text += "\nOptions:\n" + entry("--help, -h", "print this, or the help of a command") +
            entry("--version", "print the versions of Ziggurat and its libraries");
    text += examples_of({{"ziggurat check decks/quickstart.yaml", "is the deck valid, does it fit?"},
                         {"mpirun -n 2 ziggurat train decks/quickstart.yaml train.steps=100",
                          "train on two ranks, one value changed"},
                         {"ziggurat sample runs/quickstart --prompt 'In the'", "generate text"}});
    return text + "\n" + exit_codes();
}

std::string help_of(const CommandRow& row) {
    std::string text = row.doc + "\n\nUsage: ziggurat " + row.name;
    for (const auto& positional : row.positionals) {
        const bool is_needed = &positional == &row.positionals.front();
        text += is_needed ? " " + positional.name : " [" + positional.name + "]";
    }
    text += " [OPTIONS]\n";
    text += row.positionals.empty() ? "" : "\nArguments:\n";
    for (const auto& positional : row.positionals) {
        text += entry(positional.name, positional.doc);
    }
    text += "\nOptions:\n";
    for (const auto& option : row.options) {
        text += entry(option.value.empty() ? option.name : option.name + " " + option.value, option.doc);
    }
    return text + entry("--help, -h", "print this") + examples_of(row.examples);
}

}  // namespace ziggurat::app
