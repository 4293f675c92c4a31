#include "train/step/same_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SameProgram, EveryRankNamesTheOneThatWasBuiltOtherwise) {
    const auto& world = test::world();
    expect_same_program("0.1.0", world);
    const std::string mine = world.rank() == 2 ? "0.2.0\x1b" : "0.1.0";
    try {
        expect_same_program(mine, world);
        ADD_FAILURE() << "nobody has noticed";
    } catch (const Error& error) {
        EXPECT_EQ(ErrorKind::resource, error.kind());
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr("rank 2 on "), HasSubstr("runs '0.2.0\\x1b', rank 0 '0.1.0'")));
    }
}

}  // namespace
}  // namespace ziggurat::train
