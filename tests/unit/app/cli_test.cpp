#include "app/command_line/cli.hpp"

#include <gmock/gmock.h>

#include <iomanip>
#include <sstream>

#include "app/command_line/command_table.hpp"
#include "app/command_line/shipped_texts.hpp"
#include "app/command_line/version.hpp"
#include "app/commands.hpp"

namespace ziggurat::app {
namespace {

/// Result of a command line, and its output.
struct Answer {
    std::variant<ParsedCommand, EarlyExit> result;
    std::string out;
    std::string err;

    /// Returns the options of the command. Throws std::bad_cast for another command.
    template <class O>
    O options() const {
        return dynamic_cast<const O&>(*std::get<ParsedCommand>(result).options);
    }
    int exit_code() const { return std::get<EarlyExit>(result).exit_code; }
};

Answer print_line(std::vector<std::string> words) {
    words.insert(words.begin(), "ziggurat");
    std::vector<char*> pointers;
    pointers.reserve(words.size());
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    auto result = parse_command_line(static_cast<int>(pointers.size()), pointers.data());
    return {std::move(result), testing::internal::GetCapturedStdout(),
            testing::internal::GetCapturedStderr()};
}

/// Returns the error of a command line that must be rejected.
std::string mismatch(std::vector<std::string> words) {
    const Answer answer = print_line(std::move(words));
    if (!std::holds_alternative<EarlyExit>(answer.result)) {
        return "it was taken";
    }
    EXPECT_EQ(answer.exit_code(), 2);
    EXPECT_EQ(answer.out, "");
    return answer.err;
}

TEST(CommandLine, TakesADeckAndOverrides) {
    const Answer answer =
        print_line({"train", "a.yaml", "train.steps=5", "data.train=[{path: x}]", "optimizer.lr=-1"});
    const auto options = answer.options<TrainOptions>();
    EXPECT_EQ(options.deck, "a.yaml");
    EXPECT_EQ(options.overrides,
              (std::vector<std::string>{"train.steps=5", "data.train=[{path: x}]", "optimizer.lr=-1"}));
    EXPECT_EQ(options.line, "ziggurat train a.yaml train.steps=5 data.train=[{path: x}] optimizer.lr=-1");
}

TEST(ManPage, QuestionsOfExamplesKeepTheirMark) {
    const std::string page = man_page();
    EXPECT_NE(page.find("is it valid, does it fit?\n"), std::string::npos);
    EXPECT_EQ(page.find("?:"), std::string::npos);
}

TEST(CommandLine, TakesRunsToDraw) {
    const Answer answer = print_line({"plot", "runs/a", "--out=both.svg", "runs/b"});
    EXPECT_EQ(answer.options<PlotOptions>().paths, (std::vector<std::string>{"runs/a", "runs/b"}));
    EXPECT_EQ(answer.options<PlotOptions>().out, "both.svg");
    EXPECT_TRUE(print_line({"plot", "runs/a", "--terminal"}).options<PlotOptions>().terminal);
    EXPECT_NE(mismatch({"plot"}).find("no run is given. Name its folder"), std::string::npos);
    EXPECT_NE(mismatch({"plot", "runs/a", "--out", "a.png"}).find("a file whose name ends in .svg"),
              std::string::npos);
    EXPECT_NE(mismatch({"plot", "runs/a", "--table", "--csv", "-"}).find("--csv and --table exclude"),
              std::string::npos);
    EXPECT_NE(mismatch({"plot", "runs/a", "--png", "a.svg"}).find("a file whose name ends in .png"),
              std::string::npos);
    EXPECT_NE(mismatch({"plot", "runs/a", "--terminal", "--out", "a.svg"}).find("--terminal exclude each"),
              std::string::npos);
}

TEST(CommandLine, TakesWhatADoctorIsToLookAt) {
    const auto none = print_line({"doctor"}).options<DoctorOptions>();
    EXPECT_TRUE(none.paths.empty());
    EXPECT_FALSE(none.mpi);
    const auto all = print_line({"doctor", "a.yaml", "--mpi", "/nvme0", "--json"}).options<DoctorOptions>();
    EXPECT_EQ(all.paths, (std::vector<std::string>{"a.yaml", "/nvme0"}));
    EXPECT_TRUE(all.mpi);
    EXPECT_TRUE(all.json);
}

TEST(CommandLine, TakesWhatAJobOfSlurmIsToHave) {
    const auto job = print_line({"slurm", "a.yaml", "--nodes", "4", "--ntasks-per-node=8", "--time", "2-00",
                                 "--account", "physics", "train.steps=5", "--gpus-per-node", "8"})
                         .options<SlurmOptions>();
    EXPECT_EQ(job.nodes, 4);
    EXPECT_EQ(job.tasks_per_node, 8);
    EXPECT_EQ(job.gpus_per_node, 8);
    EXPECT_EQ(job.time, "2-00");
    EXPECT_EQ(job.account, "physics");
    EXPECT_EQ(job.overrides, std::vector<std::string>{"train.steps=5"});
    EXPECT_EQ(print_line({"slurm", "a.yaml"}).options<SlurmOptions>().tasks_per_node, std::nullopt);
    EXPECT_NE(mismatch({"slurm"}).find("no deck is given"), std::string::npos);
    EXPECT_NE(mismatch({"slurm", "a.yaml", "--time", "1h"}).find("takes a time in Slurm's format"),
              std::string::npos);
    EXPECT_NE(mismatch({"slurm", "a.yaml", "--job-name", "a\nb"}).find("is not valid in a batch script"),
              std::string::npos);
    EXPECT_NE(
        mismatch({"slurm", "a.yaml", "--nodes", "1000", "--ntasks-per-node", "1001"}).find("ranks. Ask for"),
        std::string::npos);
}

TEST(CommandLine, TakesOptionsAnywhere) {
    const Answer answer =
        print_line({"check", "--ranks", "8", "a.yaml", "--print", "x.y=1", "--machine=laptop", "--longest"});
    const auto options = answer.options<CheckOptions>();
    EXPECT_TRUE(options.longest);
    EXPECT_FALSE(print_line({"check", "a.yaml"}).options<CheckOptions>().longest);
    EXPECT_EQ(options.ranks, 8);
    EXPECT_TRUE(options.print);
    EXPECT_EQ(options.machine, "laptop");
    EXPECT_EQ(options.overrides, std::vector<std::string>{"x.y=1"});
}

/// Checks --nodes and --ranks of a command whose options are an `O`.
template <class O>
void expect_nodes_and_ranks(const std::string& command) {
    const auto plain = print_line({command, "a.yaml"}).options<O>();
    EXPECT_EQ(plain.nodes, std::nullopt);
    const auto job = print_line({command, "a.yaml", "--nodes", "2", "--ranks", "6"}).options<O>();
    EXPECT_EQ(job.nodes, 2);
    EXPECT_EQ(job.ranks, 6);
}

TEST(CommandLine, PlansAndChecksForNodes) {
    expect_nodes_and_ranks<PlanOptions>("plan");
    expect_nodes_and_ranks<CheckOptions>("check");
    EXPECT_FALSE(print_line({"plan", "a.yaml"}).options<PlanOptions>().program);
}

TEST(CommandLine, PlansTheProgramOfARank) {
    const Answer answer = print_line(
        {"plan", "a.yaml", "--ranks", "4", "--program", "--rank", "3", "--json", "--variant", "evaluate"});
    const auto options = answer.options<PlanOptions>();
    EXPECT_TRUE(options.program);
    EXPECT_TRUE(options.json);
    EXPECT_EQ(options.rank, 3);
    EXPECT_EQ(options.variant, "evaluate");
}

TEST(CommandLine, SelectsOpsOfAProgram) {
    const auto chosen = print_line({"plan", "a.yaml", "--program", "--unit=layers.3", "--lane", "compute",
                                    "--kind", "fill", "--ops", "12-20"})
                            .options<PlanOptions>();
    EXPECT_EQ(chosen.unit, "layers.3");
    EXPECT_EQ(chosen.lane, "compute");
    EXPECT_EQ(chosen.kind, "fill");
    EXPECT_EQ(chosen.ops, (std::pair{12, 20}));
    EXPECT_EQ(print_line({"plan", "a.yaml", "--program", "--ops", "7"}).options<PlanOptions>().ops,
              (std::pair{7, 7}));
    EXPECT_TRUE(print_line({"plan", "a.yaml", "--program", "--all"}).options<PlanOptions>().all);
}

TEST(CommandLine, InspectsAFolder) {
    const auto of_rank = print_line({"plan", "a.yaml", "--json", "--rank", "2"}).options<PlanOptions>();
    EXPECT_TRUE(of_rank.json && !of_rank.program && !of_rank.time);
    EXPECT_EQ(of_rank.rank, 2);
    const auto times = print_line({"plan", "a.yaml", "--time", "--json"}).options<PlanOptions>();
    EXPECT_TRUE(times.time);
    EXPECT_TRUE(times.json);
    const auto written = print_line({"plan", "a.yaml", "--time", "--trace", "a.json", "--html", "a.html"})
                             .options<PlanOptions>();
    EXPECT_EQ(written.trace, "a.json");
    EXPECT_EQ(written.html, "a.html");
    EXPECT_EQ(print_line({"inspect", "runs/a", "--html", "a.html"}).options<InspectOptions>().html, "a.html");
    const auto searched =
        print_line({"plan", "a.yaml", "--search", "--write", "b.yaml"}).options<PlanOptions>();
    EXPECT_TRUE(searched.search);
    EXPECT_EQ(searched.write, "b.yaml");

    const auto compared = print_line({"plan", "a.yaml", "--machines", "b:3,c", "--tokens", "300B", "--nodes",
                                      "8", "--objective", "time"})
                              .options<PlanOptions>();
    EXPECT_EQ(compared.machines, "b:3,c");
    EXPECT_EQ(compared.tokens, 300'000'000'000);
    EXPECT_EQ(compared.objective, "time");

    const auto list = print_line({"inspect", "runs/a", "--json"}).options<InspectOptions>();
    EXPECT_EQ(list.folder, "runs/a");
    EXPECT_TRUE(list.json);
    EXPECT_EQ(
        print_line({"inspect", "a", "--sample", "7", "--tokenizer", "b"}).options<InspectOptions>().sample,
        7);
    EXPECT_TRUE(print_line({"inspect", "--verify", "runs/a"}).options<InspectOptions>().verify);
    EXPECT_TRUE(print_line({"inspect", "runs/a", "--tensors"}).options<InspectOptions>().tensors);
    EXPECT_EQ(print_line({"inspect", "runs/a", "--tensor", "layers.0.gain"}).options<InspectOptions>().tensor,
              "layers.0.gain");
    EXPECT_EQ(print_line({"inspect", "runs/a", "--diff", "runs/b"}).options<InspectOptions>().other,
              "runs/b");
}

TEST(CommandLine, SamplesAndEvaluates) {
    const auto plain = print_line({"sample", "runs/a", "--prompt", "In the"}).options<SampleOptions>();
    EXPECT_EQ(plain.prompt, "In the");
    EXPECT_EQ(plain.tokens, 200);
    EXPECT_EQ(plain.temperature, 0.8);
    EXPECT_EQ(plain.seed, std::nullopt);
    EXPECT_EQ(plain.compute, "");
    const auto chosen = print_line({"sample", "runs/a", "--prompt=-x", "--tokens", "7", "--temperature", "0",
                                    "--seed", "18446744073709551615", "--compute", "fp32", "--average"})
                            .options<SampleOptions>();
    EXPECT_EQ(chosen.prompt, "-x");
    EXPECT_EQ(chosen.tokens, 7);
    EXPECT_EQ(chosen.temperature, 0);
    EXPECT_EQ(chosen.compute, "fp32");
    EXPECT_TRUE(chosen.average);
    EXPECT_EQ(chosen.seed, 18446744073709551615U);
    EXPECT_EQ(chosen.answers, 1);
    const auto many = print_line({"sample", "runs/a", "--prompts", "-", "--answers", "4", "--system", "s"})
                          .options<SampleOptions>();
    EXPECT_EQ(many.prompts, "-");
    EXPECT_EQ(many.answers, 4);
    EXPECT_TRUE(print_line({"sample", "runs/a", "--chat"}).options<SampleOptions>().prompt.empty());
    const auto eval = print_line({"eval", "runs/a", "--data", "x.bin", "--format", "llmc", "--json"})
                          .options<EvalOptions>();
    EXPECT_EQ(eval.data, "x.bin");
    EXPECT_EQ(eval.format, "llmc");
    EXPECT_TRUE(eval.json);
    const auto task =
        print_line({"eval", "runs/a", "--task", "x.jsonl", "--tokenizer", "models/a", "--choices", "y.jsonl"})
            .options<EvalOptions>();
    EXPECT_EQ(task.task, "x.jsonl");
    EXPECT_EQ(task.tokenizer, "models/a");
    EXPECT_EQ(task.choices, "y.jsonl");
}

TEST(CommandLine, RefusesWhatIsNotAskedForAFolder) {
    EXPECT_NE(mismatch({"inspect"}).find("no path is given"), std::string::npos);
    EXPECT_NE(mismatch({"inspect", "a", "b"}).find("'b' is one argument too many"), std::string::npos);
    EXPECT_NE(mismatch({"inspect", "a", "--verify", "--sample", "2"}).find("are for sample files"),
              std::string::npos);
    EXPECT_NE(mismatch({"inspect", "a", "--verify", "--diff", "b"}).find("Give one of them"),
              std::string::npos);
    EXPECT_NE(mismatch({"inspect", "a", "--diff", ""}).find("'--diff' takes the folder of a run"),
              std::string::npos);
    EXPECT_NE(mismatch({"inspect", "a", "--prompt", "b"}).find("has no option '--prompt'"),
              std::string::npos);
    EXPECT_NE(mismatch({"sample", "a"}).find("no prompt is given"), std::string::npos);
    EXPECT_NE(mismatch({"sample", "a", "--answers", "2", "--chat"}).find("requires --prompt or --prompts"),
              std::string::npos);
    EXPECT_NE(mismatch({"sample", "a", "--prompt", "b", "--prompts", "c"}).find("exclude each other"),
              std::string::npos);
    EXPECT_NE(mismatch({"sample", "a", "--prompt", "In", "the"}).find("Quote a text"), std::string::npos);
    EXPECT_NE(mismatch({"sample", "a", "--prompt", "b", "--system", "c"}).find("--system requires --chat"),
              std::string::npos);
    EXPECT_NE(
        mismatch({"sample", "a", "--prompt", "b", "--chat", "--add-bos", "true"}).find("excludes --chat"),
        std::string::npos);
    EXPECT_EQ(
        mismatch({"sample", "a", "--prompt", "b", "--tokens", "0"}),
        "ziggurat: error: '--tokens' takes a whole number from 1 to 1048576, not '0'. See 'ziggurat sample "
        "--help'.\n");
    for (const std::string no_temperature : {"-1", "nan", "warm", "1e400", "3 "}) {
        EXPECT_EQ(mismatch({"sample", "a", "--prompt", "b", "--temperature", no_temperature}),
                  "ziggurat: error: '--temperature' takes a number from 0 to 100, not '" + no_temperature +
                      "'. See 'ziggurat sample --help'.\n");
    }
    for (const std::string no_seed : {"-1", "18446744073709551616", "1.0", "0x1"}) {
        EXPECT_EQ(mismatch({"sample", "a", "--prompt", "b", "--seed", no_seed}),
                  "ziggurat: error: '--seed' takes a whole number from 0 to 18446744073709551615, not '" +
                      no_seed + "'. See 'ziggurat sample --help'.\n");
    }
    EXPECT_EQ(print_line({"eval", "a"}).options<EvalOptions>().data, "") << "the run's own";
    EXPECT_NE(mismatch({"eval", "a", "--format", "text"}).find("data). Leave it out, or give --data"),
              std::string::npos);
    EXPECT_NE(mismatch({"eval", "a", "--choices", "c"}).find("--choices requires --task"), std::string::npos);
    EXPECT_NE(mismatch({"eval", "a", "--data", "b", "--task", "c"}).find("exclude each other"),
              std::string::npos);
    EXPECT_NE(mismatch({"eval", "a", "--data", "b", "--choices", "c"}).find("--choices requires --task"),
              std::string::npos);
    EXPECT_NE(mismatch({"eval", "a", "--task", "b", "--format", "text"}).find("--format requires --data"),
              std::string::npos);
    EXPECT_NE(mismatch({"eval", "a", "--task", "b", "--choices", "b"}).find("overwrite the file of --task"),
              std::string::npos);
    EXPECT_NE(mismatch({"eval", "a", "--data", "b", "--format", "csv"}).find("csv"), std::string::npos);
    EXPECT_NE(mismatch({"eval", "a", "--data", "b", "--format", "raw"}).find("Add --dtype uint16 or"),
              std::string::npos);
    EXPECT_NE(mismatch({"eval", "a", "--data", "b", "--dtype", "uint16"}).find("requires --format raw"),
              std::string::npos);
    EXPECT_EQ(print_line({"eval", "a", "--data", "b", "--format", "raw", "--dtype", "uint32"})
                  .options<EvalOptions>()
                  .dtype,
              "uint32");
    EXPECT_NE(mismatch({"inspct", "a"}).find("Did you mean 'inspect'?"), std::string::npos);
}

TEST(CommandLine, TokenizesConversations) {
    const std::vector<std::string> line{"tokenize", "a.jsonl", "--chat", "--tokenizer", "t", "--out", "o"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), line.begin(), line.end());
        return more;
    };
    const auto options =
        print_line(with({"--template", "rag", "--loss-on", "completion"})).options<TokenizeOptions>();
    EXPECT_TRUE(options.is_chat);
    EXPECT_EQ(options.chat_template, "rag");
    EXPECT_EQ(options.loss_on, "completion");
    EXPECT_NE(mismatch(with({"--loss-on", "user"})).find("one of assistant, completion and all"),
              std::string::npos);
    for (const std::vector<std::string>& other : {std::vector<std::string>{"--format", "llmc"},
                                                  {"--field", "x"},
                                                  {"--input", "jsonl"},
                                                  {"--add-bos", "true"}}) {
        EXPECT_NE(mismatch(with(other)).find(other.front() + " is for token files, not for --chat"),
                  std::string::npos);
    }
    for (const std::vector<std::string>& other :
         {std::vector<std::string>{"--template", "x"}, {"--loss-on", "all"}}) {
        EXPECT_NE(mismatch({"tokenize", "a", "--tokenizer", "t", "--out", "o", "--format", "llmc", other[0],
                            other[1]})
                      .find(other.front() + " is for conversations. Add --chat"),
                  std::string::npos);
    }
    EXPECT_NE(mismatch({"tokenize", "a", "--tokenizer", "t", "--out", "o"}).find("no format is given"),
              std::string::npos);
}

TEST(CommandLine, ExplainsAKeyWithoutADeck) {
    EXPECT_EQ(print_line({"check", "--explain", "sharding.zero"}).options<CheckOptions>().explain,
              "sharding.zero");
}

TEST(CommandLine, HelpAndVersionAreNoErrors) {
    const Answer help = print_line({"--help"});
    EXPECT_EQ(help.exit_code(), 0);
    EXPECT_NE(help.out.find("mpirun -n 2 ziggurat train"), std::string::npos);
    const std::string first_lines = help.out.substr(0, help.out.find("Usage:"));
    for (const char* fact :
         {"Model families: gpt2, llama", "on CPU cores", "context and pipeline parallelism", "ZeRO", "NVMe",
          "Slurm", "runs on one GPU"}) {
        EXPECT_NE(first_lines.find(fact), std::string::npos) << fact;
    }
    const Answer version_answer = print_line({"--version"});
    EXPECT_EQ(version_answer.exit_code(), 0);
    EXPECT_NE(version_answer.out.find("ziggurat " + version()), std::string::npos);
    EXPECT_EQ(print_line({"-h"}).out, help.out);
}

/// Returns the first words of the lines of a help text, such as the names of options.
std::set<std::string> entries(const std::string& help, const std::string& heading) {
    std::set<std::string> names;
    std::istringstream lines{help.substr(help.find("\n" + heading + ":\n") + 1)};
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line) && !line.empty()) {
        if (line.starts_with("  ") && line[2] != ' ') {
            names.insert(line.substr(2, line.find_first_of(" ,", 2) - 2));
        }
    }
    return names;
}

TEST(CommandLine, EachCommandHasAHelpOfItsOwn) {
    const std::map<std::vector<std::string>, std::set<std::string>> commands{
        {{"train"}, {"--backup", "--help"}},
        {{"inspect"},
         {"--tensors", "--tensor", "--verify", "--diff", "--tokenizer", "--sample", "--html", "--json",
          "--help"}},
        {{"sample"},
         {"--prompt", "--prompts", "--answers", "--tokens", "--tokenizer", "--add-bos", "--temperature",
          "--top-k", "--top-p", "--stop", "--compute", "--average", "--kv-cache", "--seed", "--chat",
          "--system", "--template", "--help"}},
        {{"eval"},
         {"--data", "--format", "--dtype", "--task", "--tokenizer", "--add-bos", "--choices", "--compute",
          "--average", "--kv-cache", "--json", "--help"}},
        {{"bench", "gemm"}, {"--brief", "--machine-file", "--help"}},
        {{"bench", "comm"}, {"--brief", "--machine-file", "--help"}},
        {{"bench", "io"}, {"--size", "--machine-file", "--help"}},
        {{"bench", "optimizer"}, {"--brief", "--machine-file", "--help"}},
        {{"bench", "gpu"}, {"--machine-file", "--help"}},
        {{"bench", "all"}, {"--size", "--brief", "--machine-file", "--help"}},
    };
    for (const auto& [command, options] : commands) {
        auto words = command;
        words.emplace_back("--help");
        const Answer help = print_line(words);

        EXPECT_EQ(help.exit_code(), 0);
        EXPECT_EQ(entries(help.out, "Options"), options) << help.out;
        const bool takes_none =
            command.front() == "bench" && command.back() != "io" && command.back() != "all";
        EXPECT_EQ(help.out.find("Arguments:") == std::string::npos, takes_none) << help.out;
        EXPECT_EQ(entries(help.out, "Arguments").empty(), takes_none) << help.out;
        const std::string examples = help.out.substr(help.out.find("\nExamples:\n"));
        EXPECT_EQ(std::count(examples.begin(), examples.end(), '\n'), 5) << "three examples";
    }
    std::string of_bench;
    for (const char* measured : {"gemm", "comm", "io", "optimizer", "gpu", "all"}) {
        of_bench += (of_bench.empty() ? "" : "\n") + print_line({"bench", measured, "--help"}).out;
    }
    EXPECT_EQ(print_line({"bench", "--help"}).out, of_bench);
    EXPECT_EQ(print_line({"check", "a.yaml", "--ranks", "3", "-h"}).out, print_line({"check", "--help"}).out);
}

TEST(CommandLine, EveryOptionIsInTheHelpOfItsCommandAndTakesWhatTheHelpSays) {
    for (const CommandRow& row : commands()) {
        const std::string help = help_of(row);
        for (const OptionRow& option : row.options) {
            EXPECT_NE(help.find("\n  " + option.name + (option.value.empty() ? " " : " " + option.value)),
                      std::string::npos)
                << option.name;
            EXPECT_EQ(option.value.empty(), option.takes.empty()) << option.name;
            const auto options = row.make();
            EXPECT_EQ(option.take(*options, ""), option.value.empty()) << option.name << ": an empty value";
        }
        EXPECT_EQ(row.examples.size(), 3U) << row.name;
        for (const Example& example : row.examples) {
            EXPECT_NE((example.line + " ").find("ziggurat " + row.name + " "), std::string::npos)
                << example.line;
        }
    }
}

TEST(CommandLine, EveryExampleIsTaken) {
    for (const CommandRow& row : commands()) {
        for (const Example& example : row.examples) {
            std::vector<std::string> words;
            std::istringstream line{example.line.substr(example.line.find("ziggurat ") + 9)};
            for (std::string word; line >> std::quoted(word, '\'');) {
                words.push_back(word);
            }
            const Answer answer = print_line(words);
            EXPECT_TRUE(std::holds_alternative<ParsedCommand>(answer.result)) << example.line << "\n"
                                                                              << answer.err;
        }
    }
}

TEST(CommandLine, RefusesWhatIsNotConsumed) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> lines{
        {{"--bogus", "check", "a.yaml"}, "there is no option '--bogus'."},
        {{"foo", "check", "a.yaml"}, "there is no command 'foo'."},
        {{"help"}, "there is no command 'help'. Did you mean '--help'?"},
        {{"check", "a.yaml", "-json"}, "'check' has no option '-json'. Did you mean '--json'?"},
        {{"--ranks", "2", "check", "a.yaml"}, "'--ranks' is before the command. Give the command first"},
        {{"--ranks=2", "check", "a.yaml"}, "'--ranks' is before the command."},
        {{"check", "a.yaml", "inspect"}, "'inspect' is not an override"},
        {{"train", "check", "a.yaml"}, "'a.yaml' is not an override (key=value). Give one command, one deck"},
        {{"--help", "check"}, "takes no arguments, but 'check' was given"},
        {{"--version", "check"}, "takes no arguments, but 'check' was given"},
        {{"inspect", "a", "--json=yes"}, "'--json' takes no value. Leave out '=yes'."},
        {{"check", "a.yaml", "--ranks", "2", "--ranks", "3"}, "'--ranks' is given twice."},
        {{"check", "a.yaml", "--explain", "model.layers"}, "--explain describes a key and reads no deck."},
        {{"check", "--explain", "model.layers", "--ranks", "2"}, "--explain describes a key"},
        {{"check", "a.yaml", "-x"}, "'check' has no option '-x'."},
        {{"train", "a.yaml", "--train.steps=10"}, "Write keys of the deck without dashes: train.steps=10."},
        {{"train", "a.yaml", "--learning-rate", "1"},
         "Here that is optimizer.lr, as in optimizer.lr=3.0e-4."},
        {{"train", "a.yaml", "-n", "8"}, "ranks are started by `mpirun -n 8`"},
        {{"train", "a.yaml", "--resume"}, "a run resumes automatically from its run.dir"},
        {{"check", "a.yaml", "--json", "--print"}, "--json and --print exclude each other"},
        {{"plan", "a.yaml", "--rank", "1"},
         "--rank selects the rank of a step program. Add --program or --json."},
        {{"plan", "a.yaml", "--rank", "1", "--time", "--json"}, "Add --program or --json."},
        {{"plan", "a.yaml", "--trace", "a.json"},
         "--trace writes a file about the planned step. Add --time."},
        {{"plan", "a.yaml", "--html", "a.html"}, "--html writes a file about the planned step. Add --time."},
        {{"inspect", "runs/a", "--html", "a.html", "--verify"},
         "--html exclude each other. Give one of them."},
        {{"plan", "a.yaml", "--write", "b.yaml"},
         "--write stores the deck of the first layout. Add --search."},
        {{"plan", "a.yaml", "--tokens", "3B"}, "--tokens is for the comparison of machines. Add --machines."},
        {{"plan", "a.yaml", "--machines", "b", "--tokens", "many"},
         "'--tokens' takes a number of tokens from 1 to 10^18, such as 300B"},
        {{"plan", "a.yaml", "--machines", "b", "--search"}, "--machines and --search exclude each other."},
        {{"plan", "a.yaml", "--machines", "b", "--objective", "fame"},
         "'--objective' takes one of time, cost, energy and memory"},
        {{"plan", "a.yaml", "--machines", "b", "--objective", "memory"},
         "--objective memory sorts layouts. Add --search."},
        {{"plan", "a.yaml", "--search", "--objective", "cost"},
         "--objective cost sorts jobs. Add --machines."},
        {{"plan", "a.yaml", "--objective", "time"},
         "--objective time sorts jobs or layouts. Add --machines or --search."},
        {{"plan", "a.yaml", "--search", "--time"},
         "--search and --time exclude each other. Leave out one of them."},
        {{"plan", "a.yaml", "--recompute", "--search"},
         "--recompute and --search exclude each other. Leave out one of them."},
        {{"plan", "a.yaml", "--ranks", "7", "--nodes", "2"}, "--ranks 7 is not a multiple of --nodes 2."},
        {{"check", "a.yaml", "--ranks", "1", "--nodes", "2"}, "Give a multiple, or leave out one of them."},
        {{"plan", "a.yaml", "--program", "--all", "--unit", "head"}, "Leave out --unit, or --all."},
        {{"plan", "a.yaml", "--program", "--json", "--ops", "3-4"}, "Leave out --ops."},
        {{"plan", "a.yaml", "--program", "--ops", "4-3"},
         "'--ops' takes a range of op numbers from 0 to 2147483647 such as 12-20"},
        {{"plan", "a.yaml", "--program", "--ops", "-3"}, "not '-3'"},
        {{"plan", "a.yaml", "--program", "--ops", "3-"}, "not '3-'"},
        {{"plan", "a.yaml", "--program", "--variant", "sample"},
         "'--variant' takes one of train and evaluate"},
        {{"bench", "cpu", "/a"},
         "'bench' does not measure 'cpu'. Use gemm, comm, io, optimizer, gpu or all."},
        {{"bench", "gpu", "/a"}, "'/a' is one argument too many."},
        {{"bench", "gemm", "/a"}, "'/a' is one argument too many."},
        {{"bench", "io", "/a", "--ranks", "2"}, "'bench io' has no option '--ranks'."},
    };
    for (const auto& [words, expected] : lines) {
        EXPECT_NE(mismatch(words).find(expected), std::string::npos) << mismatch(words);
    }
}

TEST(CommandLine, SuggestsWhatWasMeant) {
    EXPECT_EQ(mismatch({"trian", "a.yaml"}),
              "ziggurat: error: there is no command 'trian'. Did you mean 'train'? See 'ziggurat --help'.\n");
    EXPECT_EQ(mismatch({"check", "a.yaml", "--rnaks=3"}),
              "ziggurat: error: 'check' has no option '--rnaks'. Did you mean '--ranks'? See 'ziggurat check "
              "--help'.\n");
    EXPECT_EQ(mismatch({"--versoin"}),
              "ziggurat: error: there is no option '--versoin'. Did you mean '--version'? See 'ziggurat "
              "--help'.\n");
}

TEST(CommandLine, ShowsTheFormOfAnOverrideThatIsWrittenInAnother) {
    for (const auto& words :
         std::vector<std::vector<std::string>>{{"check", "a.yaml", "optimizer.lr: 3e-4"},
                                               {"check", "a.yaml", "optimizer.lr:", "3e-4"},
                                               {"check", "a.yaml", "optimizer.lr", "3e-4"},
                                               {"check", "a.yaml", "optimizer.lr 3e-4"}}) {
        EXPECT_THAT(mismatch(words), testing::HasSubstr("Write optimizer.lr=3e-4.")) << words.back();
    }
    EXPECT_THAT(mismatch({"check", "a.yaml", "schedule.warmup: 10 steps"}),
                testing::HasSubstr("Write schedule.warmup='10 steps'."));
    EXPECT_THAT(mismatch({"check", "a.yaml", "--optimizer.lr", "3e-4"}),
                testing::HasSubstr("Write keys of the deck without dashes: optimizer.lr=3e-4."));
    EXPECT_THAT(mismatch({"check", "a.yaml", "--optimizer.lr", "--json"}),
                testing::HasSubstr("optimizer.lr=VALUE."));
    EXPECT_THAT(mismatch({"check", "a.yaml", "train.steps"}), testing::HasSubstr("Give one command"));
}

TEST(CommandLine, TakesLimitsOfSamples) {
    const auto options =
        print_line({"sample", "runs/a", "--prompt", "In", "--top-k", "40", "--top-p", "0.9", "--stop", "A"})
            .options<SampleOptions>();
    EXPECT_EQ(options.top_k, 40);
    EXPECT_EQ(options.top_p, 0.9);
    EXPECT_EQ(options.ends, (std::vector<std::string>{"A"}));
    for (const char* value : {"0", "1.5", "-1", "x"}) {
        EXPECT_THAT(mismatch({"sample", "runs/a", "--prompt", "In", "--top-p", value}),
                    testing::HasSubstr("a number above 0, up to 1"));
    }
}

TEST(CommandLine, RefusesWhatItWouldOtherwiseIgnore) {
    EXPECT_NE(mismatch({"train", "a.yaml", "--print"}).find("'train' has no option '--print'"),
              std::string::npos);
    EXPECT_NE(mismatch({"train", "a.yaml", "b.yaml"}).find("'b.yaml' is not an override"), std::string::npos);
    EXPECT_NE(mismatch({"train", "a.yaml", "=5"}).find("'=5' is not an override"), std::string::npos);
    EXPECT_NE(mismatch({"train", "steps=5"}).find("no deck is given ('steps=5' is an override)"),
              std::string::npos);
    EXPECT_NE(mismatch({"train", "steps=5", "a=b"}).find("no deck is given ('steps=5' is an override)"),
              std::string::npos);
    EXPECT_NE(mismatch({"check"}).find("no deck is given"), std::string::npos);
    for (const std::string no_number : {"0", "two", "1000001", "1e3", "99999999999999999999", ""}) {
        EXPECT_EQ(mismatch({"check", "a.yaml", "--ranks", no_number}),
                  "ziggurat: error: '--ranks' takes a whole number from 1 to 1000000, not '" + no_number +
                      "'. See 'ziggurat check --help'.\n");
    }
    for (const auto& line : std::vector<std::vector<std::string>>{
             {"check", "a.yaml", "--ranks"}, {"check", "a.yaml", "--ranks", "--print"}}) {
        EXPECT_EQ(mismatch(line),
                  "ziggurat: error: '--ranks' has no value. Give it a whole number from 1 to 1000000. See "
                  "'ziggurat check --help'.\n");
    }
}

TEST(CommandLine, TakesWhatIsMeasured) {
    const Answer answer = print_line({"bench", "io", "/a", "/b", "--size", "64MiB", "--machine-file=m.yaml"});
    const auto options = answer.options<BenchIoOptions>();
    EXPECT_EQ(options.paths, (std::vector<std::string>{"/a", "/b"}));
    EXPECT_EQ(options.size_bytes, 64 << 20);
    EXPECT_EQ(options.machine_file, "m.yaml");
    EXPECT_NE(mismatch({"bench"}).find("'bench' needs a second word: gemm, comm, io, optimizer, gpu or all."),
              std::string::npos);
    EXPECT_NE(mismatch({"bench", "io"}).find("no folder is given"), std::string::npos);
    EXPECT_NE(mismatch({"bench", "io", "/a", "--size", "12"}).find("takes a size from 1MiB to 1PB"),
              std::string::npos);
    EXPECT_NE(mismatch({"bench", "io", "/a", "--szie=1MiB"}).find("Did you mean '--size'?"),
              std::string::npos);
}

TEST(CommandLine, TakesWhatRanksMeasureAtOnce) {
    const auto all =
        print_line({"bench", "all", "/a", "/b", "--size", "2MiB", "--brief", "--machine-file", "m.yaml"})
            .options<BenchAllOptions>();
    EXPECT_EQ(all.paths, (std::vector<std::string>{"/a", "/b"}));
    EXPECT_EQ(all.size_bytes, 2 << 20);
    EXPECT_TRUE(all.brief);
    EXPECT_EQ(all.machine_file, "m.yaml");
    EXPECT_TRUE(print_line({"bench", "all"}).options<BenchAllOptions>().paths.empty());
    for (const char* measured : {"gemm", "comm", "optimizer"}) {
        const auto options =
            print_line({"bench", measured, "--machine-file=m.yaml"}).options<BenchRanksOptions>();
        EXPECT_EQ(options.machine_file, "m.yaml") << measured;
        EXPECT_FALSE(options.brief) << measured;
        EXPECT_TRUE(print_line({"bench", measured, "--brief"}).options<BenchRanksOptions>().brief)
            << measured;
    }
}

TEST(CommandLine, ShowsHelpWhenNothingIsAsked) {
    EXPECT_NE(mismatch({}).find("Usage:"), std::string::npos);
}

TEST(CommandLine, DoesNotLetALineSteerTheTerminal) {
    EXPECT_EQ(mismatch({"\x1b[2J"}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace ziggurat::app
