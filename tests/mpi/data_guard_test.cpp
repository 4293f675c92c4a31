/// Ranks that read different data all report it.
#include "train/save/data_guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/stop_check.hpp"
#include "comm/throw_on_all_ranks.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "train/report/reporter.hpp"
#include "train/trainer.hpp"

namespace ziggurat::train {
namespace {

using ::testing::HasSubstr;

/// A folder for each rank, with a file of the same name, as if each rank had a node of its own.
class DataGuardTest : public ::testing::Test {
  protected:
    const comm::Context& world_ = test::world();
    const test::ScratchFolder folder_;
    const std::filesystem::path before_ = std::filesystem::current_path();
    spec::RunSpec spec_;
    const RunContext context_{};
    Console console_{Console::quiet};
    std::optional<Reporter> reporter_;

    void SetUp() override {
        std::filesystem::current_path(own_folder());
        spec_.model.vocab = 256;
        spec_.data.seq = 4;
        spec_.data.train = {{.path = "text.txt"}};
        spec_.run.dir = own_folder() + "/run";
        reporter_.emplace(spec_, context_, world_, console_);
    }
    void TearDown() override { std::filesystem::current_path(before_); }

    std::string own_folder() const {
        const auto path = folder_.file(std::to_string(world_.rank()));
        std::filesystem::create_directories(path);
        return path;
    }
    static void write(const std::string& text) { std::ofstream{"text.txt"} << text; }

    /// Returns the error of the guard with `num_nodes` nodes on this rank.
    std::string problem(int num_nodes) {
        try {
            const auto corpus = open_corpus(spec_, world_);
            const DataGuard guard{corpus, comm::find_nodes(world_.group(), num_nodes), world_, *reporter_};
        } catch (const Error& error) {
            EXPECT_EQ(ErrorKind::deck, error.kind());
            return error.what();
        }
        return "";
    }
};

TEST_F(DataGuardTest, NodesWithTheSameBytesGoOn) {
    write("the same text on all");
    EXPECT_EQ("", problem(world_.size()));
}

TEST_F(DataGuardTest, AllRanksStopIfOneIsStopped) {
    write("the same text on all");
    const StopCheck stop = [this] {
        if (world_.rank() == world_.size() - 1) {
            throw Stopped{"stopped while it reads"};
        }
    };
    const auto corpus = open_corpus(spec_, world_);
    try {
        const DataGuard guard{corpus, comm::find_nodes(world_.group(), world_.size()), world_, *reporter_,
                              stop};
        ADD_FAILURE() << "the guard reads each file of a node";
    } catch (const Stopped& stopped) {
        EXPECT_STREQ("stopped while it reads", stopped.what());
        EXPECT_TRUE(stopped.is_on_all_ranks());
    }
    const auto work = [&] { stop(); };
    EXPECT_THROW(comm::throw_on_all_ranks(world_, "cannot read", work), Stopped);
    EXPECT_THROW(comm::stop_on_all_ranks(world_, work), Stopped);
    comm::stop_on_all_ranks(world_, [] {});
}

TEST_F(DataGuardTest, EveryRankNamesTheNodeWithOtherBytes) {
    const int last = world_.size() - 1;
    write(world_.rank() == last ? "another text of mine" : "the same text on all");
    EXPECT_THAT(problem(world_.size()),
                HasSubstr("'text.txt' is not the same on all nodes (20 bytes for rank 0 on "));
    EXPECT_THAT(problem(world_.size()),
                HasSubstr("same size, but other bytes for rank " + std::to_string(last)));
}

TEST_F(DataGuardTest, EveryRankNamesTheNodeWithoutTheFile) {
    if (world_.rank() != 1) {
        write("the same text on all");
    }
    EXPECT_THAT(problem(world_.size()),
                HasSubstr("cannot read 'text.txt' (No such file or directory, seen from "));
}

}  // namespace
}  // namespace ziggurat::train
