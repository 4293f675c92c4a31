#include <gmock/gmock.h>

#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using ::testing::HasSubstr;

class OwnTokens : public TinyDeck {
  protected:
    const std::string own_ = "data.train=[{format: own, path: numbers}]";
};

TEST_F(OwnTokens, AreForAProgramThatBringsThem) {
    options_.brings_tokens = true;

    const auto loaded = load(without_gpus, {own_});

    EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    ASSERT_EQ(loaded.run.data.train.size(), 1U);
    EXPECT_EQ(loaded.run.data.train[0].format, spec::TokenFormat::own);
    EXPECT_EQ(loaded.run.data.train[0].path, "numbers");
    EXPECT_THAT(loaded.effective, HasSubstr("format: own"));
}

TEST_F(OwnTokens, AreNumbersOrBytes) {
    options_.brings_tokens = true;

    EXPECT_TRUE(load(without_gpus, {own_, "data.tokenizer=none", "model.vocab=99"}).ok());
    EXPECT_TRUE(load(without_gpus, {own_, "data.reset_at_document=true"}).ok()) << "they may know documents";
}

TEST_F(OwnTokens, AreRefusedWhereNobodyBringsThem) {
    const auto loaded = load(without_gpus, {own_});

    EXPECT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.found.print(), HasSubstr("format own needs a program that calls the library"));
}

TEST_F(OwnTokens, AreNotedByAPlan) {
    options_.needs_data = false;

    const auto loaded = load(without_gpus, {own_});

    EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.found.notes(), 1U);
}

}  // namespace
}  // namespace ziggurat::deck
