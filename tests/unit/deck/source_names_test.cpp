#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

class SourceNames : public TinyDeck {};

TEST_F(SourceNames, DifferForAFileThatIsListedTwice) {
    const std::string path = (folder_ / "text.txt").string();
    const std::string source = "{format: text, path: '" + path + "'}";

    const auto loaded = load(without_gpus, {"data.train=[" + source + ", " + source + "]"});

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    ASSERT_EQ(loaded.run.data.train.size(), 2U);
    EXPECT_EQ(loaded.run.data.train[0].name, path);
    EXPECT_EQ(loaded.run.data.train[1].name, path + " (2)");
}

}  // namespace
}  // namespace ziggurat::deck
