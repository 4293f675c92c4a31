#include <gmock/gmock.h>

#include "spec/narrow_sums.hpp"
#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using ::testing::HasSubstr;

class NarrowGradients : public TinyDeck {
  protected:
    LoadedDeck adding(std::int64_t micro_batches, std::int64_t ranks, const std::string& type) {
        options_.ranks = static_cast<int>(ranks);
        return load(without_gpus, {"precision.gradient=" + type, "train.micro_batch=2",
                                   "train.global_batch=" + std::to_string(2 * micro_batches * ranks)});
    }
};

TEST_F(NarrowGradients, AreAddedUpAsOftenAsTheirNormAllows) {
    for (const std::int64_t ranks : {1, 4}) {
        EXPECT_TRUE(adding(spec::max_added_in_bf16, ranks, "bf16").ok());
        EXPECT_TRUE(adding(spec::max_added_in_bf16 + 1, ranks, "fp32").ok());

        const auto refused = adding(spec::max_added_in_bf16 + 1, ranks, "bf16");

        EXPECT_EQ(refused.found.exit_code(), 2);
        EXPECT_THAT(
            refused.found.print(),
            HasSubstr("command line:1:20: 65 micro-batches are added up in bf16 (beyond 64 the norm of their "
                      "sum may be off by more than 1%"));
    }
}

}  // namespace
}  // namespace ziggurat::deck
