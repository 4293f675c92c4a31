/// Ranks of different builds are rejected at the start of a training.
#include "train/step/same_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "comm/control.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/trainer.hpp"

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

TEST(SameProgram, IsWhatATrainingBeginsWith) {
    const auto& world = test::world();
    const test::ScratchFolder folder;
    auto run = test::tiny_run("gpt2", world.size(), 1, 1);
    run.run.dir = comm::broadcast(world, folder.file("run"));
    const RunContext context{.version = world.rank() == 2 ? "0.2.0" : "0.1.0",
                             .libraries = "",
                             .command = "",
                             .effective_deck = ""};
    StopSignals signals;
    Console console{Console::quiet};
    try {
        train(run, context, world, test::processors_for_tests(1), signals, console);
        ADD_FAILURE() << "it has trained";
    } catch (const Error& error) {
        EXPECT_EQ(ErrorKind::resource, error.kind());
        EXPECT_THAT(error.what(), HasSubstr("not all ranks run the same program"));
    }
    comm::barrier(world);  // the first rank owns the folder
}

}  // namespace
}  // namespace ziggurat::train
