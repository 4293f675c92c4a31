#include "perf/options.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::perf {
namespace {

/// One option of each kind.
struct Choice {
    int rounds = 3;
    double gib = 1.5;
    std::string type = "f32";
    std::vector<std::int64_t> sizes{1};
    bool is_long = false;

    Options options() {
        Options options{"Times nothing."};
        options.add("--rounds", rounds, between(1, 10), "how often");
        options.add("--gib", gib);
        options.add("--type", type, one_of({"f32", "bf16"}));
        options.add("--sizes", sizes);
        options.add_flag("--long", is_long);
        return options;
    }
    void read(const std::vector<std::string_view>& arguments) { options().read(arguments); }
};

TEST(Options, TakeValuesBesideTheirNamesOrBehindAnEqualsSign) {
    Choice choice;

    choice.read({"--rounds", "7", "--gib=0.25", "--type", "bf16", "--sizes=4096,1048576", "--long"});

    EXPECT_EQ(7, choice.rounds);
    EXPECT_EQ(0.25, choice.gib);
    EXPECT_EQ("bf16", choice.type);
    EXPECT_EQ((std::vector<std::int64_t>{4096, 1048576}), choice.sizes);
    EXPECT_TRUE(choice.is_long);
}

TEST(Options, KeepTheirDefaults) {
    Choice choice;

    choice.read({});

    EXPECT_EQ(3, choice.rounds);
    EXPECT_EQ((std::vector<std::int64_t>{1}), choice.sizes);
    EXPECT_FALSE(choice.is_long);
}

TEST(Options, RefuseWhatIsNotAllowed) {
    const std::vector<std::vector<std::string_view>> wrong{{"--round", "3"},
                                                           {"--rounds", "0"},
                                                           {"--rounds", "11"},
                                                           {"--rounds", "3x"},
                                                           {"--rounds", ""},
                                                           {"--rounds"},
                                                           {"--type", "f64"},
                                                           {"--sizes", "1,,2"},
                                                           {"--sizes", "1,two"},
                                                           {"--long=1"},
                                                           {"3"},
                                                           {"--rounds", "2.5"}};
    for (const auto& arguments : wrong) {
        EXPECT_THROW(Choice{}.read(arguments), std::invalid_argument) << arguments.front();
    }
}

TEST(Options, ListThemselves) {
    Choice choice;

    EXPECT_EQ("Times nothing.\n  --rounds   how often\n  --gib\n  --type\n  --sizes\n  --long\n",
              choice.options().help());
}

}  // namespace
}  // namespace ziggurat::perf
