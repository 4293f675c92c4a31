/// Loading any deck ends with a verdict: no crash, no exception, no hang, no unbounded memory.
///
/// ZIGGURAT_FUZZ_COUNT decks (4000) are made from good and bad ones, from the seed ZIGGURAT_FUZZ_SEED (1).
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "deck/load.hpp"
#include "layout/counts.hpp"
#include "tests/support/bad_deck_files.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

int number_from_environment(const char* name, int fallback) {
    const char* text = std::getenv(name);
    return text == nullptr ? fallback : std::atoi(text);
}

/// Returns the peak memory of this process.
std::int64_t peak_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::int64_t{usage.ru_maxrss} * 1024;
}

/// Values that are valid for some key.
const std::vector<std::string> plain = {
    "1",
    "2",
    "4",
    "8",
    "16",
    "32",
    "64",
    "100 steps",
    "2 steps",
    "30min",
    "1GiB",
    "50%",
    "10%",
    "true",
    "false",
    "none",
    "auto",
    "0.5",
    "1.0e-3",
    "fp32",
    "bf16",
    "full",
    "selective",
    "constant",
    "linear",
    "cosine",
    "device",
    "global",
    "off",
    "at_end",
    "each_microbatch",
    "flat",
};

/// Values that break careless parsers.
const std::vector<std::string> nasty = {
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "1e308",
    "1e-308",
    "nan",
    "inf",
    "-0",
    "1e18",
    "99999999999999999999",
    "auto",
    "none",
    "all",
    "node",
    "flat",
    "true",
    "no",
    "''",
    "\"\"",
    "~",
    "null",
    "[]",
    "{}",
    "[[]]",
    "{a: b}",
    "[1, 2, 3]",
    "100 steps",
    "0 steps",
    "5%",
    "100%",
    "0%",
    "1KiB",
    "8PiB",
    "30s",
    "9999d",
    "20G tokens",
    "${name}",
    "${env:HOME}",
    "${a",
    "$${",
    "*x",
    "&x 1",
    "!!int 3",
    "<<",
    "'\\0'",
    "\"\\x00\\u2028\"",
    "/dev/zero",
    "/",
    "..",
    "*",
    "/proc/self/mem",
    "a.yaml",
    "[a.yaml, a.yaml]",
    "gpt2",
    "llama",
    "llama-70b",
    "megatron",
    "raw",
    "uint16",
    "wsd",
    "interleaved",
    "{device: 50%, host: rest}",
    "1000000",
    "65536",
    "128",
    "{degree: 2, mode: 2d}",
    "{kind: wsd}",
    "[0.9, 0.95]",
    "[tensor, data]",
    "1048576",
    "0.5",
    "\t",
    "#",
    ":",
    "- ",
};

const std::vector<std::string> good_decks = {
    "deck_version: 1\nmodel: {family: gpt2, layers: 2, hidden: 32, heads: 2}\n"
    "data: {seq: 16, train: [{format: text, path: parts/text.txt}]}\n"
    "train: {steps: 10, global_batch: 8, micro_batch: 2}\n",

    "deck_version: 1\ninclude: [parts/base.yaml]\nrun:\n  seed: 3\n  name: '${a}-${env:A:-b}'\nvars: {a: "
    "b}\n",

    "deck_version: 1\ninclude: [parts/base.yaml]\n"
    "model:\n  family: llama\n  kv_heads: 1\n  ffn_hidden: 64\n  norm_epsilon: 1.0e-6\n"
    "data:\n  held_out: 30%\n  shuffle: false\n  document_token: 10\n  reset_at_document: true\n"
    "validate:\n  every: [5 steps, 30min]\n  batches: 2\n  sample: {prompt: 'In the', tokens: 5}\n"
    "parallel:\n  tensor: 1\n  order: [data, tensor, context, pipeline]\n  threads: 2\n"
    "sharding:\n  parameters: 1\n  optimizer: all\n  sum_group: flat\n"
    "tiers:\n  device: 1GiB\n  host: {budget: 50%}\n  home: {optimizer: {device: 50%, host: rest}}\n  chunk: "
    "4096\n"
    "recompute: {kind: full, every: 1}\nprecision: {compute: fp32}\n"
    "optimizer:\n  lr: 1.0e-3\n  betas: [0.9, 0.99]\n  no_decay: ['*.bias']\n  clip: {norm: 1.0, policy: "
    "global}\n"
    "schedule:\n  kind: wsd\n  warmup: 2 steps\n  decay: 30%\n"
    "overlap:\n  prefetch: 2\n  bucket: 1M\nlogging:\n  every: 1 steps\n",
};

class Mutator {
  public:
    Mutator(std::vector<std::string> seeds, unsigned seed) : seeds_{std::move(seeds)}, random_{seed} {}

    std::string next() {
        std::string deck = pick(seeds_);
        const int changes = below(4);
        for (int i = 0; i < changes; ++i) {
            switch (below(3)) {
                case 0:
                    change_bytes(deck);
                    break;
                case 1:
                    change_lines(deck);
                    break;
                default:
                    change_value(deck);
            }
        }
        return deck;
    }

    std::string override_text() {
        static const std::vector<std::string> paths = {
            "train.steps",
            "model",
            "data.train[0].path",
            "data.train[99999999999]",
            "parallel.tensor",
            "sharding.zero",
            "optimizer.clip_norm",
            "optimizer",
            "include",
            "vars.a",
            "data",
            "tiers.home.optimizer",
            "a[0]",
            "",
            "[0]",
            "data.train[0].format",
            "recompute",
            "model.preset",
            "validate.sample",
            "..",
            "deck_version",
        };
        return pick(paths) + (below(10) == 0 ? "" : "=") + pick(nasty);
    }

    int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  private:
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
    }

    std::size_t position(const std::string& text) {
        return static_cast<std::size_t>(below(static_cast<int>(text.size()) + 1));
    }

    void change_bytes(std::string& deck) {
        const std::size_t at = position(deck);
        switch (below(4)) {
            case 0:
                deck.insert(at, 1, static_cast<char>(below(256)));
                break;
            case 1:
                deck.erase(at, static_cast<std::size_t>(1 + below(8)));
                break;
            case 2:
                deck.insert(at, deck.substr(position(deck), static_cast<std::size_t>(below(64))));
                break;
            default:
                static constexpr std::string_view syntax = "{}[],:#&*!|>'\"%@`-?\n ";
                deck.insert(at, 1, syntax[static_cast<std::size_t>(below(static_cast<int>(syntax.size())))]);
        }
    }

    void change_lines(std::string& deck) {
        const std::size_t begin = deck.rfind('\n', position(deck)) + 1;
        const std::size_t end = std::min(deck.find('\n', begin), deck.size());
        const std::string line = deck.substr(begin, end - begin) + "\n";
        switch (below(4)) {
            case 0:
                deck.erase(begin, line.size());
                break;
            case 1:
                deck.insert(begin, line);
                break;
            case 2:
                deck.insert(begin, static_cast<std::size_t>(below(5)), ' ');
                break;
            default: {
                const std::string& other = pick(seeds_);
                const std::size_t from = other.rfind('\n', position(other)) + 1;
                deck.insert(begin, other.substr(from, static_cast<std::size_t>(below(200))) + "\n");
            }
        }
    }

    void change_value(std::string& deck) {
        const std::size_t colon = deck.find(": ", position(deck));
        if (colon == std::string::npos) {
            return;
        }
        const std::size_t end = std::min(deck.find_first_of(",}\n", colon), deck.size());
        deck.replace(colon + 2, end > colon + 2 ? end - colon - 2 : 0, pick(below(2) == 0 ? nasty : plain));
    }

    std::vector<std::string> seeds_;
    std::mt19937 random_;
};

/// Returns the decks of a folder, sorted by name: mutations are the same on every machine.
std::vector<fs::path> decks_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator{folder}) {
        if (entry.path().extension() == ".yaml") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<std::string> texts_of(const std::vector<fs::path>& files) {
    std::vector<std::string> texts;
    for (const fs::path& file : files) {
        std::ifstream stream{file};
        texts.emplace_back(std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{});
    }
    return texts;
}

TEST(Fuzz, EveryDeckGetsAVerdict) {
    const fs::path sources = std::getenv("PROJECT_SOURCE_DIR");
    fs::current_path(sources / "tests/decks/bad");
    std::vector<std::string> seeds = texts_of(test::bad_deck_files());
    for (std::string& deck : texts_of(decks_in(sources / "decks"))) {
        seeds.push_back(std::move(deck));
    }
    // Half of the mutations start from decks that load, so that resolving and rules are reached too.
    const std::size_t bad = seeds.size();
    for (std::size_t i = 0; i < bad; i += good_decks.size()) {
        seeds.insert(seeds.end(), good_decks.begin(), good_decks.end());
    }
    Mutator mutator{std::move(seeds),
                    static_cast<unsigned>(number_from_environment("ZIGGURAT_FUZZ_SEED", 1))};
    const int count = number_from_environment("ZIGGURAT_FUZZ_COUNT", 4000);
    const std::int64_t peak_before = peak_bytes();
    const spec::MachineSpec machine{.name = "test", .cores_per_node = 2, .host_bytes = 8LL << 30};

    int accepted = 0;
    for (int i = 0; i < count; ++i) {
        const std::string deck = mutator.next();
        LoadOptions options{.ranks = mutator.below(9), .machine = machine};
        std::vector<std::string> overrides;
        if (mutator.below(5) == 0) {
            overrides.push_back(mutator.override_text());
        }
        try {
            const LoadedDeck loaded = load_text(deck, "mutated.yaml", overrides, options);
            EXPECT_FALSE(loaded.found.print().empty());
            if (!loaded.ok()) {
                EXPECT_GT(loaded.found.sorted().size(), 0u);
                continue;
            }
            ++accepted;
            EXPECT_GT(layout::count_state_bytes(loaded.run).total(), 0) << deck;
            options.ranks = loaded.run.parallel.ranks;
            const LoadedDeck again = load_text(loaded.effective, "effective.yaml", {}, options);
            EXPECT_TRUE(again.ok()) << deck << "\n" << loaded.effective << again.found.print();
            EXPECT_TRUE(again.run == loaded.run) << deck << "\n" << loaded.effective;
        } catch (const std::exception& error) {
            ADD_FAILURE() << error.what() << " from the deck\n" << deck;
        }
    }

    EXPECT_GT(accepted, count / 50) << "mutations that only break decks test little";
    EXPECT_LT(peak_bytes() - peak_before, 512LL << 20);
}

}  // namespace
}  // namespace ziggurat::deck
