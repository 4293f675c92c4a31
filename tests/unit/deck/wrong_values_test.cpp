/// Each key of the schema with values that are wrong for most keys, in each shipped deck.
///
/// Loading ends with a verdict; a value that cannot be valid is rejected with the right error. Tries
/// ZIGGURAT_FUZZ_COUNT of the cases (800), spread evenly, or all if there are fewer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "deck/load.hpp"
#include "deck/machine/machine.hpp"
#include "deck/schema/schema.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

struct Value {
    const char* text;
    bool may_be_right = true;  ///< false: invalid for every key that is not a text
};

constexpr std::array values{
    Value{"''"},              // empty
    Value{"perhaps", false},  // a keyword
    Value{"-7"},
    Value{"0"},
    Value{"9223372036854775807"},  // the largest of 64 bits
    Value{"1e308"},
    Value{"2.5"},
    Value{".nan", false},
    Value{"-.inf", false},
    Value{"2K"},  // units of sizes, of counts and of no kind
    Value{"4096 tokens"},
    Value{"5 parsecs", false},
    Value{"[1, two, {three: 3}]", false},
    Value{"[]"},
    Value{"{one: 1, 2: [two]}", false},
    Value{"{}"},
    Value{"~"},                                       // null
    Value{R"("\x01\x1b[31m\u202e\u0000 ξ")", false},  // terminal controls; not a Latin letter
};

/// A shipped deck, with the number of ranks and machine in its first lines.
struct Shipped {
    fs::path file;
    LoadOptions options = {};
    std::string stages = {};  ///< parallel.pipeline.each with equally spread layers
};

struct Case {
    const Shipped* deck = nullptr;
    std::string key;
    Value value = {""};

    /// Returns the overrides; the last one sets the key. For a list of maps, that of the first map.
    std::vector<std::string> overrides() const {
        const auto list = key.find("[]");
        if (list == std::string::npos) {
            return {key + "=" + value.text};
        }
        const auto path = key.substr(0, list);
        const auto maps = path == "parallel.pipeline.each" ? deck->stages
                          : path == "tiers.tile"           ? "[{match: '*', out: 2}]"
                          : path == "recompute.fates"      ? "[{match: attended, fate: keep}]"
                                                           : "[{format: text, path: a.txt}]";
        return {path + "=" + maps, path + "[0]" + key.substr(list + 2) + "=" + value.text};
    }
    std::string text() const { return deck->file.filename().string() + " " + key + "=" + value.text; }
};

/// Returns equal numbers of layers for each stage or chunk; the last has the rest.
std::string spread_layers(const spec::RunSpec& run) {
    const auto& parallel = run.parallel;
    const auto parts = std::int64_t{parallel.stages} * parallel.chunks_per_stage;
    const auto usual = run.model.layers / parts;
    std::string text;
    for (int stage = 0; stage < parallel.stages; ++stage) {
        std::string layers;
        for (int chunk = 0; chunk < parallel.chunks_per_stage; ++chunk) {
            const bool is_last = chunk * parallel.stages + stage + 1 == parts;
            layers += (chunk == 0 ? "" : ", ") +
                      std::to_string(is_last ? run.model.layers - usual * (parts - 1) : usual);
        }
        text += (stage == 0 ? "[" : ", ") + ("{layers: [" + layers + "]}");
    }
    return text + "]";
}

Shipped shipped(const fs::path& file) {
    static const std::regex position{"check: .* --ranks ([0-9]+) --machine ([a-z0-9-]+)"};
    std::ifstream stream{file};
    const std::string text{std::istreambuf_iterator<char>{stream}, {}};
    std::smatch match;
    if (!std::regex_search(text, match, position)) {
        ADD_FAILURE() << file << " does not say where to check it";
        return {file};
    }
    Diagnostics found;
    Shipped deck{file, {.ranks = std::stoi(match[1]), .has_nccl = true, .needs_data = false}};
    deck.options.machine = load_called_machine(match[2], found);
    deck.options.environment = [](const std::string&) { return std::optional<std::string>{}; };
    const auto loaded = load(file, {}, deck.options);
    EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    deck.stages = spread_layers(loaded.run);
    return deck;
}

std::vector<Shipped> shipped_decks() {
    std::vector<fs::path> files;
    for (const char* folder : {"decks", "decks/systems"}) {
        for (const auto& entry : fs::directory_iterator{folder}) {
            if (entry.path().extension() == ".yaml") {
                files.push_back(entry.path());
            }
        }
    }
    std::sort(files.begin(), files.end());
    std::vector<Shipped> decks;
    std::ranges::transform(files, std::back_inserter(decks), shipped);
    return decks;
}

std::vector<Case> all_cases(const std::vector<Shipped>& decks) {
    std::vector<Case> cases;
    for (const Row& row : deck_schema().rows()) {
        for (const auto& deck : decks) {
            for (const auto& value : values) {
                cases.push_back({&deck, row.path, value});
            }
        }
    }
    return cases;
}

/// Returns true if a problem is about an override, or names the key: for null, a note names its
/// default.
bool is_about(const Problem& problem, const std::string& key) {
    const auto name = key.substr(key.find_last_of(".]") + 1);
    return problem.at.file == command_line_name || problem.sentence().find(name) != std::string::npos;
}

/// Loads a deck. Returns true if it was rejected.
bool expect_verdict(const Case& tried) {
    try {
        const auto& options = tried.deck->options;
        const auto loaded = load(tried.deck->file, tried.overrides(), options);
        const int code = loaded.found.exit_code();
        EXPECT_TRUE(code == 0 || code == 2) << code << " of " << tried.text() << "\n" << loaded.found.print();
        if (code == 0) {
            const auto again = load_text(loaded.effective, "effective.yaml", {}, options);
            EXPECT_TRUE(again.ok()) << tried.text() << "\n" << loaded.effective << again.found.print();
            EXPECT_TRUE(again.run == loaded.run) << tried.text() << "\n" << loaded.effective;
            return false;
        }
        EXPECT_TRUE(tried.value.may_be_right ||
                    std::ranges::any_of(loaded.found.sorted(),
                                        [&](const Problem& problem) { return is_about(problem, tried.key); }))
            << tried.text() << " is refused for something else\n"
            << loaded.found.print();
    } catch (const std::exception& error) {
        ADD_FAILURE() << error.what() << " from " << tried.text();
    }
    return true;
}

TEST(WrongValues, GetAVerdictInEveryShippedDeck) {
    fs::current_path(std::getenv("PROJECT_SOURCE_DIR"));
    const char* asked = std::getenv("ZIGGURAT_FUZZ_COUNT");
    const auto decks = shipped_decks();
    const auto cases = all_cases(decks);
    const auto wanted = static_cast<std::size_t>(asked == nullptr ? 800 : std::atoi(asked));
    const auto count = std::min(cases.size(), wanted);

    std::size_t refused = 0;
    std::set<std::string> keys;
    std::set<std::string> tried_values;
    for (std::size_t i = 0; i < count; ++i) {
        // Equal steps alone could repeatedly hit the same few values.
        const auto& tried = cases[std::min(i * cases.size() / count + i % values.size(), cases.size() - 1)];
        refused += expect_verdict(tried) ? 1 : 0;
        keys.insert(tried.key);
        tried_values.insert(tried.value.text);
    }

    EXPECT_EQ(keys.size(), std::min(count, deck_schema().rows().size()));
    EXPECT_EQ(tried_values.size(), std::min(count, values.size()));
    EXPECT_GT(refused, count / 2) << "values that are right test little";
}

}  // namespace
}  // namespace ziggurat::deck
