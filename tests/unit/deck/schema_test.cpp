#include "deck/schema/schema.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "deck/reference/reference.hpp"
#include "deck/rules/not_built.hpp"
#include "deck/rules/rules.hpp"
#include "deck/values/reader.hpp"

namespace ziggurat::deck {
namespace {

std::string file_of(const std::string& path) {
    std::ifstream stream{std::getenv("PROJECT_SOURCE_DIR") + ("/" + path)};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

TEST(Schema, ExplainsEachKeyOnce) {
    std::set<std::string> paths;
    for (const Row& row : deck_schema().rows()) {
        EXPECT_TRUE(paths.insert(row.path).second) << row.path << " is there twice";
        EXPECT_TRUE(std::string_view{row.doc}.ends_with('.')) << row.path << " has no sentence";
        EXPECT_FALSE(accepted_forms(row).empty()) << row.path;
    }
}

/// The compiler checks this for sections.
TEST(Schema, SaysOfEachValueWhatAnotherOneMeansToARunThatGoesOn) {
    for (const Row& row : deck_schema().rows()) {
        EXPECT_EQ(row.on_resume != OnResume::unprinted, has_value(row.type)) << row.path;
    }
}

TEST(Schema, GivesAsAReasonWhatAKeyIsInOneSentence) {
    Row row;
    row.doc = "Something a.b is for: x. y: more. Never less than z. Nor more.";
    EXPECT_EQ(reason_of(row), "something a.b is for: x. y: more");
    row.doc = "HDF5 files.";
    EXPECT_EQ(reason_of(row), "HDF5 files");
}

TEST(Schema, HasDefaultsThatItTakesItself) {
    for (const Schema* schema : {&deck_schema(), &machine_schema()}) {
        for (const Row& row : schema->rows()) {
            if (row.fallback != nullptr) {
                EXPECT_NO_THROW(value_of(row, row.fallback)) << row.path;
            }
        }
    }
}

TEST(Schema, HasAMapAroundEachKey) {
    for (const Row& row : deck_schema().rows()) {
        const std::string path = row.path;
        const std::size_t dot = path.rfind('.');
        if (dot == std::string::npos) {
            continue;
        }
        std::string parent = path.substr(0, dot);
        if (parent.ends_with("[]")) {
            parent.resize(parent.size() - 2);
        }
        const Row* around = deck_schema().find(parent);
        ASSERT_NE(around, nullptr) << path;
        EXPECT_EQ(around->type, parent.size() + 2 == dot ? Type::list : Type::map) << path;
    }
}

TEST(Schema, HasEveryShorthand) {
    for (const Row& row : deck_schema().rows()) {
        if (*row.shorthand != '\0') {
            const std::string target =
                row.type == Type::alias ? row.shorthand : std::string{row.path} + "." + row.shorthand;
            EXPECT_NE(deck_schema().find(target), nullptr) << row.path;
        }
    }
}

TEST(Rules, NameKeysThatExist) {
    for (const auto rules : {run_rules(), model_rules(), parallel_rules(), train_rules(), schedule_rules(),
                             validate_rules(), trained_rules(), sharding_rules(), tier_rules(), tile_rules(),
                             source_rules(), data_rules(), checkpoint_rules(), effect_rules()}) {
        for (const Rule& rule : rules) {
            for (const auto key : split_words(rule.keys)) {
                EXPECT_NE(deck_schema().find(key), nullptr) << key;
            }
        }
    }
}

TEST(MissingFeatures, NameKeysThatExist) {
    for (const Feature& feature : missing_features()) {
        EXPECT_NE(deck_schema().find(feature.key), nullptr) << feature.key;
    }
}

TEST(ReferencePage, IsWhatTheSchemaSays) {
    EXPECT_EQ(file_of("decks/REFERENCE.md"), reference_page()) << "stale: build the target `reference`";
}

TEST(MachinePage, IsWhatTheSchemaSays) {
    EXPECT_EQ(file_of("decks/MACHINES.md"), machine_page()) << "stale: build the target `reference`";
}

TEST(JsonSchema, IsWhatTheSchemaSays) {
    EXPECT_TRUE(file_of("decks/schema.json") == json_schema()) << "stale: build the target `reference`";
}

TEST(Explain, ShowsAKeyAndItsChildren) {
    std::string meant;
    EXPECT_NE(explain("sharding.zero", meant)->find("0 to 3"), std::string::npos);
    EXPECT_NE(explain("data.train[0].path", meant)->find("data.train[].path"), std::string::npos);
    EXPECT_NE(explain("optimizer", meant)->find("weight_decay"), std::string::npos);
    EXPECT_NE(explain("compression.gradients", meant)->find("Not implemented"), std::string::npos);
    EXPECT_EQ(explain("sharding.zeros", meant), std::nullopt);
    EXPECT_EQ(meant, "sharding.zero");
    EXPECT_EQ(explain("lr", meant), std::nullopt);
    EXPECT_EQ(meant, "optimizer.lr");
}

}  // namespace
}  // namespace ziggurat::deck
