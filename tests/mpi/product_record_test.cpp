/// Ranks agree on the algorithms of matrix products.
#include "train/ops/product_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/error.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::train {
namespace {

using kernels::ProductChoices;

/// A tuner of a GPU with some choices.
class KnownTuner final : public kernels::ProductTuner {
  public:
    KnownTuner(std::string library, ProductChoices choices)
        : library_{std::move(library)}, choices_{std::move(choices)} {}

    std::string library() const override { return library_; }
    void measure(ProductChoices) override { ADD_FAILURE() << "it is measured already"; }
    ProductChoices choices() const override { return choices_; }
    void choose(const ProductChoices& choices) override {
        for (auto& [product, choice] : choices_) {
            choice = choices.at(product);
        }
    }

  private:
    std::string library_;
    ProductChoices choices_;
};

TEST(AgreeOnProducts, TakesTheChoiceOfTheFirstRankThatHasTheProduct) {
    const auto& world = test::world();
    const int rank = world.rank();
    ProductChoices mine{{"shared", rank + 3}};
    if (rank > 0) {
        mine["of later stages"] = rank + 5;
    }
    KnownTuner tuner{"a GPU", mine};
    const auto agreed = agree_on_products(world, &tuner, {});
    EXPECT_EQ(agreed, (ProductRecord{{"a GPU", {{"shared", 3}, {"of later stages", 6}}}}));
    EXPECT_EQ(tuner.choices().at("shared"), 3);
    EXPECT_TRUE(rank == 0 || tuner.choices().at("of later stages") == 6);
}

TEST(AgreeOnProducts, KeepsKnownChoicesAndThoseOfOtherGpus) {
    const auto& world = test::world();
    const bool has_gpu = world.rank() == 1;  // the other ranks compute on the host
    KnownTuner tuner{"another GPU", {{"product", 2}}};
    const ProductRecord known{{"a GPU", {{"product", 7}}}};
    const auto agreed = agree_on_products(world, has_gpu ? &tuner : nullptr, known);
    EXPECT_EQ(agreed, (ProductRecord{{"a GPU", {{"product", 7}}}, {"another GPU", {{"product", 2}}}}));
}

TEST(AgreeOnProducts, ReplacesAKnownChoiceThatNoRankUses) {
    KnownTuner tuner{"a GPU", {{"product", 2}}};
    const ProductRecord known{{"a GPU", {{"product", 100}, {"of another layout", 7}}}};
    const auto agreed = agree_on_products(test::world(), &tuner, known);
    EXPECT_EQ(agreed, (ProductRecord{{"a GPU", {{"product", 2}, {"of another layout", 7}}}}));
}

TEST(ProductRecord, IsReadAsItWasWritten) {
    EXPECT_EQ(parse_product_record(to_json({}), "run/products.json"), ProductRecord{});
    const ProductRecord record{{"a GPU", {{"[1, 2] [2, 3]", 4}}}};
    EXPECT_EQ(parse_product_record(to_json(record), "run/products.json"), record);
}

TEST(ProductRecord, NamesTheFileIfItIsDamaged) {
    for (const char* text : {"", "{", "[]", R"({"a GPU": 3})", R"({"a GPU": {"product": "first"}})"}) {
        try {
            parse_product_record(text, "run/products.json");
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::deck);
            EXPECT_THAT(error.what(), testing::HasSubstr("run/products.json is damaged"));
        }
    }
}

}  // namespace
}  // namespace ziggurat::train
