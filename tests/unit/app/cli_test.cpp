#include "app/cli.hpp"

#include <gtest/gtest.h>

#include "app/version.hpp"

namespace ziggurat::app {
namespace {

/// What a line gives, and what it printed.
struct Answer {
    std::variant<Arguments, Done> result;
    std::string out;
    std::string err;

    const Arguments& arguments() const { return std::get<Arguments>(result); }
    int exit_code() const { return std::get<Done>(result).exit_code; }
};

Answer say(std::vector<std::string> words) {
    words.insert(words.begin(), "ziggurat");
    std::vector<char*> pointers;
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    auto result = parse_command_line(static_cast<int>(pointers.size()), pointers.data());
    return {std::move(result), testing::internal::GetCapturedStdout(),
            testing::internal::GetCapturedStderr()};
}

/// The complaint about a line that must be refused.
std::string complaint(std::vector<std::string> words) {
    const Answer answer = say(std::move(words));
    if (!std::holds_alternative<Done>(answer.result)) {
        return "it was taken";
    }
    EXPECT_EQ(answer.exit_code(), 2);
    EXPECT_EQ(answer.out, "");
    return answer.err;
}

TEST(CommandLine, TakesADeckAndOverrides) {
    const Answer answer =
        say({"train", "a.yaml", "train.steps=5", "data.train=[{path: x}]", "optimizer.lr=-1"});
    const Arguments& arguments = answer.arguments();
    EXPECT_EQ(arguments.command, Command::train);
    EXPECT_EQ(arguments.deck, "a.yaml");
    EXPECT_EQ(arguments.overrides,
              (std::vector<std::string>{"train.steps=5", "data.train=[{path: x}]", "optimizer.lr=-1"}));
    EXPECT_EQ(arguments.line, "ziggurat train a.yaml train.steps=5 data.train=[{path: x}] optimizer.lr=-1");
}

TEST(CommandLine, TakesOptionsAnywhere) {
    const Answer answer = say({"check", "--ranks", "8", "a.yaml", "--print", "x.y=1", "--machine=laptop"});
    const Arguments& arguments = answer.arguments();
    EXPECT_EQ(arguments.command, Command::check);
    EXPECT_EQ(arguments.ranks, 8);
    EXPECT_TRUE(arguments.print);
    EXPECT_EQ(arguments.machine, "laptop");
    EXPECT_EQ(arguments.overrides, std::vector<std::string>{"x.y=1"});
}

TEST(CommandLine, PlansTheProgramOfARank) {
    const Answer answer = say(
        {"plan", "a.yaml", "--ranks", "4", "--program", "--rank", "3", "--json", "--variant", "evaluate"});
    const Arguments& arguments = answer.arguments();
    EXPECT_EQ(arguments.command, Command::plan);
    EXPECT_TRUE(arguments.program);
    EXPECT_TRUE(arguments.json);
    EXPECT_EQ(arguments.rank, 3);
    EXPECT_EQ(arguments.variant, "evaluate");
}

TEST(CommandLine, InspectsAFolder) {
    const Arguments list = say({"inspect", "runs/a", "--json"}).arguments();
    EXPECT_EQ(list.command, Command::inspect);
    EXPECT_EQ(list.folder, "runs/a");
    EXPECT_TRUE(list.json);
    EXPECT_TRUE(say({"inspect", "--verify", "runs/a"}).arguments().verify);
    EXPECT_TRUE(say({"inspect", "runs/a", "--tensors"}).arguments().tensors);
    EXPECT_EQ(say({"inspect", "runs/a", "--tensor", "layers.0.gain"}).arguments().tensor, "layers.0.gain");
    EXPECT_EQ(say({"inspect", "runs/a", "--diff", "runs/b"}).arguments().other, "runs/b");
}

TEST(CommandLine, SamplesAndEvaluates) {
    const Arguments plain = say({"sample", "runs/a", "--prompt", "In the"}).arguments();
    EXPECT_EQ(plain.command, Command::sample);
    EXPECT_EQ(plain.prompt, "In the");
    EXPECT_EQ(plain.tokens, 200);
    EXPECT_EQ(plain.temperature, 0.8);
    EXPECT_EQ(plain.seed, std::nullopt);
    const Arguments chosen = say({"sample", "runs/a", "--prompt=-x", "--tokens", "7", "--temperature", "0",
                                  "--seed", "18446744073709551615"})
                                 .arguments();
    EXPECT_EQ(chosen.prompt, "-x");
    EXPECT_EQ(chosen.tokens, 7);
    EXPECT_EQ(chosen.temperature, 0);
    EXPECT_EQ(chosen.seed, 18446744073709551615U);
    const Arguments eval =
        say({"eval", "runs/a", "--data", "x.bin", "--format", "llmc", "--json"}).arguments();
    EXPECT_EQ(eval.command, Command::eval);
    EXPECT_EQ(eval.data, "x.bin");
    EXPECT_EQ(eval.format, "llmc");
    EXPECT_TRUE(eval.json);
}

TEST(CommandLine, RefusesWhatIsNotAskedForAFolder) {
    EXPECT_NE(complaint({"inspect"}).find("no folder is given"), std::string::npos);
    EXPECT_NE(complaint({"inspect", "a", "b"}).find("'b' is one argument too many"), std::string::npos);
    EXPECT_NE(complaint({"inspect", "a", "--verify", "--diff", "b"}).find("Ask one at a time"),
              std::string::npos);
    EXPECT_NE(complaint({"inspect", "a", "--diff", ""}).find("must not be empty"), std::string::npos);
    EXPECT_NE(complaint({"inspect", "a", "--prompt", "b"}).find("has no option '--prompt'"),
              std::string::npos);
    EXPECT_NE(complaint({"sample", "a"}).find("there is no prompt"), std::string::npos);
    EXPECT_NE(complaint({"sample", "a", "--prompt", "In", "the"}).find("Quote a text"), std::string::npos);
    EXPECT_NE(complaint({"sample", "a", "--prompt", "b", "--tokens", "0"}).find("not in range"),
              std::string::npos);
    for (const char* no_temperature : {"-1", "nan", "warm"}) {
        EXPECT_NE(complaint({"sample", "a", "--prompt", "b", "--temperature", no_temperature}),
                  "it was taken");
    }
    EXPECT_NE(complaint({"sample", "a", "--prompt", "b", "--seed", "-1"}), "it was taken");
    EXPECT_NE(complaint({"eval", "a"}).find("nothing to evaluate on"), std::string::npos);
    EXPECT_NE(complaint({"eval", "a", "--data", "b", "--format", "csv"}).find("csv"), std::string::npos);
    EXPECT_NE(complaint({"inspct", "a"}).find("Did you mean 'inspect'?"), std::string::npos);
}

TEST(CommandLine, ExplainsAKeyWithoutADeck) {
    EXPECT_EQ(say({"check", "--explain", "sharding.zero"}).arguments().explain, "sharding.zero");
}

TEST(CommandLine, HelpAndVersionAreNoErrors) {
    const Answer help = say({"--help"});
    EXPECT_EQ(help.exit_code(), 0);
    EXPECT_NE(help.out.find("mpirun -n 2 ziggurat train"), std::string::npos);
    const Answer version_answer = say({"--version"});
    EXPECT_EQ(version_answer.exit_code(), 0);
    EXPECT_NE(version_answer.out.find("ziggurat " + version()), std::string::npos);
    EXPECT_EQ(say({"train", "--help"}).exit_code(), 0);
}

TEST(CommandLine, SuggestsWhatWasMeant) {
    EXPECT_EQ(complaint({"trian", "a.yaml"}),
              "ziggurat: error: there is no command 'trian'. Did you mean 'train'? See 'ziggurat --help'.\n");
    EXPECT_EQ(complaint({"check", "a.yaml", "--rnaks=3"}),
              "ziggurat: error: 'check' has no option '--rnaks'. Did you mean '--ranks'? See 'ziggurat check "
              "--help'.\n");
    EXPECT_EQ(complaint({"--versoin"}),
              "ziggurat: error: there is no option '--versoin'. Did you mean '--version'? See 'ziggurat "
              "--help'.\n");
}

TEST(CommandLine, RefusesWhatItWouldOtherwiseIgnore) {
    EXPECT_NE(complaint({"train", "a.yaml", "--print"}).find("'train' has no option '--print'"),
              std::string::npos);
    EXPECT_NE(complaint({"train", "a.yaml", "b.yaml"}).find("'b.yaml' is not an override"),
              std::string::npos);
    EXPECT_NE(complaint({"train", "a.yaml", "=5"}).find("'=5' is not an override"), std::string::npos);
    EXPECT_NE(complaint({"train", "steps=5"}).find("no deck is given ('steps=5' is an override)"),
              std::string::npos);
    EXPECT_NE(complaint({"train", "steps=5", "a=b"}).find("no deck is given ('steps=5' is an override)"),
              std::string::npos);
    EXPECT_NE(complaint({"check"}).find("no deck is given"), std::string::npos);
    EXPECT_NE(complaint({"plan", "a.yaml"}).find("Add --program"), std::string::npos);
    EXPECT_NE(complaint({"check", "a.yaml", "--ranks", "0"}).find("not in range 1 to"), std::string::npos);
    EXPECT_NE(complaint({"check", "a.yaml", "--ranks", "two"}).find("two"), std::string::npos);
    EXPECT_NE(complaint({"check", "a.yaml", "--ranks"}), "it was taken");
}

TEST(CommandLine, TakesWhatIsMeasured) {
    const Answer answer = say({"bench", "io", "/a", "/b", "--size", "64MiB", "--machine-file=m.yaml"});
    const Arguments& arguments = answer.arguments();
    EXPECT_EQ(arguments.command, Command::bench_io);
    EXPECT_EQ(arguments.paths, (std::vector<std::string>{"/a", "/b"}));
    EXPECT_EQ(arguments.size_bytes, 64 << 20);
    EXPECT_EQ(arguments.machine_file, "m.yaml");
    EXPECT_NE(complaint({"bench"}).find("Name what to measure: io."), std::string::npos);
    EXPECT_NE(complaint({"bench", "io"}).find("no folder is given"), std::string::npos);
    EXPECT_NE(complaint({"bench", "io", "/a", "--size", "12"}).find("is not a size"), std::string::npos);
    EXPECT_NE(complaint({"bench", "io", "/a", "--szie=1MiB"}).find("Did you mean '--size'?"),
              std::string::npos);
}

TEST(CommandLine, ShowsHelpWhenNothingIsAsked) {
    EXPECT_NE(complaint({}).find("Usage:"), std::string::npos);
}

TEST(CommandLine, DoesNotLetALineSteerTheTerminal) {
    EXPECT_EQ(complaint({"\x1b[2J"}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace ziggurat::app
