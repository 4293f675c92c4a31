/// Ranks agree on another checkpoint if a training removes the one that they read.
///
/// Any rank may be the one that detects it.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "comm/control.hpp"
#include "storage/io_error.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_checkpoints.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;
using test::Keep;

constexpr std::int64_t steps = 2;

std::function<void()> at_first_read;
std::atomic<bool> was_read{false};

/// Makes the first read of a shard of step 2 fail as if it was just removed, with the error of an NFS
/// client.
int lose_the_newest(const char* path, std::int64_t, std::int64_t) {
    if (std::strstr(path, "step-000000002/shard") == nullptr) {
        return 0;
    }
    if (!was_read.exchange(true)) {
        at_first_read();
    }
    return ESTALE;
}

/// Saves steps 1 and 2 into `dir`.
spec::RunSpec save_in(const std::string& dir) {
    auto run = test::tiny_run("llama", test::world().size(), 1, 1);
    run.train.steps = steps;
    run.run.dir = dir;
    run.checkpoint = {spec::Interval{.steps = 1}, 100, 0, false};
    test::train_and_save(run, test::world(), Keep::nothing, steps);
    run.checkpoint = {};
    return run;
}

class RemovedCheckpoint : public ::testing::Test {
  protected:
    ~RemovedCheckpoint() override { storage::set_read_fault(nullptr); }

    /// Makes only rank `rank` detect it.
    void remove_the_newest_at(int rank) const {
        const auto newest = folder_.file("old/ckpt/step-000000002");
        at_first_read = [newest] {
            fs::rename(newest, newest + ".tmp");
            fs::remove_all(newest + ".tmp");
        };
        was_read = false;
        storage::set_read_fault(test::world().rank() == rank ? lose_the_newest : nullptr);
    }

    test::SharedFolder folder_{test::world()};
};

TEST_F(RemovedCheckpoint, OfModelInitGivesWayToTheNextNewestOnAllRanks) {
    auto run = save_in(folder_.file("old"));
    run.run.dir = folder_.file("expected");
    run.model.init_path = folder_.file("old/ckpt/step-000000001");
    const auto expected =
        test::train_and_save(run, test::world(), Keep::nothing, steps).training.weights_hash;
    run.run.dir = folder_.file("new");
    run.model.init_path = folder_.file("old");
    remove_the_newest_at(test::world().size() - 1);

    const auto found = test::train_and_save(run, test::world(), Keep::nothing, steps);

    EXPECT_EQ(found.training.weights_hash, expected);
    EXPECT_FALSE(fs::exists(folder_.file("old/ckpt/step-000000002")));
}

TEST_F(RemovedCheckpoint, ThatARunGoesOnFromGivesWayToTheNextNewestOnAllRanks) {
    auto run = save_in(folder_.file("old"));
    run.run.dir = folder_.file("new");
    run.run.resume = spec::Resume::path;
    run.run.resume_path = folder_.file("old");
    remove_the_newest_at(test::world().size() - 1);

    const auto found = test::train_and_save(run, test::world(), Keep::nothing, steps);

    EXPECT_EQ(found.steps_before, 1);
    EXPECT_FALSE(fs::exists(folder_.file("old/ckpt/step-000000002")));
}

TEST_F(RemovedCheckpoint, ThatWasNamedItselfIsAnErrorOnAllRanks) {
    auto run = save_in(folder_.file("old"));
    run.run.dir = folder_.file("new");
    run.model.init_path = folder_.file("old/ckpt/step-000000002");
    for (const bool resumes : {false, true}) {
        if (resumes) {
            save_in(folder_.file("old"));  // writes step 2 again
            run.run.resume = spec::Resume::path;
            run.run.resume_path = run.model.init_path;
        }
        comm::barrier(test::world());
        remove_the_newest_at(test::world().size() - 1);
        try {
            test::train_and_save(run, test::world(), Keep::nothing, steps);
            ADD_FAILURE() << "read";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
            EXPECT_NE(std::string{error.what()}.find("was removed while it was being read"),
                      std::string::npos)
                << error.what();
        }
        storage::set_read_fault(nullptr);
        comm::barrier(test::world());
    }
}

}  // namespace
}  // namespace ziggurat::train
