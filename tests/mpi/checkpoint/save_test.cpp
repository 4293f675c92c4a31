/// Saving during training: the saved steps and state, and the effects of a failure on one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/shard/shard_file.hpp"
#include "comm/control.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_checkpoints.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

using test::Keep;

int ranks() {
    return test::world().size();
}

/// Returns a run with ZeRO 3 on all ranks.
spec::RunSpec saving_run(const test::SharedFolder& folder, std::int64_t every_steps) {
    auto run = test::tiny_run("llama", ranks(), 1, 1);
    run.train.steps = 1000;
    run.precision.compute = spec::DType::bf16;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = ranks();
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.run.dir = folder.file("run");
    run.checkpoint = {spec::Interval{.steps = every_steps}, 100, 0, true};
    return run;
}

test::TinyOutcome train_alone(spec::RunSpec run, std::int64_t steps) {
    run.checkpoint = {};
    run.train.steps = steps;
    return test::train_tiny(run, test::world(), Keep::nothing);
}

std::vector<std::int64_t> complete_steps(const test::SharedFolder& folder) {
    std::vector<std::int64_t> steps;
    for (const auto& path : checkpoint::list_complete(folder.file("run/ckpt"))) {
        steps.push_back(checkpoint::step_of_folder(path).value_or(-1));
    }
    return steps;
}

/// Returns the rows of one event in metrics.jsonl.
std::vector<nlohmann::json> rows(const test::SharedFolder& folder, const std::string& event) {
    std::vector<nlohmann::json> found;
    std::ifstream file{folder.file("run/metrics.jsonl")};
    for (std::string line; std::getline(file, line);) {
        auto row = nlohmann::json::parse(line);
        if (row["event"] == event) {
            found.push_back(std::move(row));
        }
    }
    return found;
}

/// Sets a fault for the writers of this rank, for a scope.
class ScopedFault {
  public:
    explicit ScopedFault(checkpoint::WriteFault fault) { checkpoint::set_write_fault(fault); }
    ~ScopedFault() { checkpoint::set_write_fault(nullptr); }
    ScopedFault(const ScopedFault&) = delete;
    ScopedFault& operator=(const ScopedFault&) = delete;
};

std::atomic<bool> gate_is_open{false};

int wait_at_gate(const char* path, std::int64_t, std::int64_t) {
    if (std::strstr(path, "shard-") != nullptr) {
        gate_is_open.wait(false);
    }
    return 0;
}

int fail_step_two(const char* path, std::int64_t, std::int64_t) {
    const bool is_part = std::strstr(path, "shard-") != nullptr;
    return is_part && std::strstr(path, "step-000000002") != nullptr ? ENOSPC : 0;
}

int fail_after_step_one(const char* path, std::int64_t, std::int64_t) {
    const bool is_part = std::strstr(path, "shard-") != nullptr;
    return is_part && std::strstr(path, "step-000000001") == nullptr ? ENOSPC : 0;
}

int fail_always(const char*, std::int64_t, std::int64_t) {
    return EIO;
}

TEST(Save, StoresTheStateOfItsStepThoughTrainingGoesOnMeanwhile) {
    const test::SharedFolder folder{test::world()};
    auto run = saving_run(folder, 2);
    const auto expected = train_alone(run, 5);
    gate_is_open = false;
    {
        const ScopedFault fault{wait_at_gate};
        // No data of step 2 is written before step 3 has changed the state.
        test::train_and_save(run, test::world(), Keep::nothing, 4,
                             [](Checkpointer& checkpointer, std::int64_t step) {
                                 if (step == 3) {
                                     EXPECT_LT(checkpointer.saved_step(), 2);
                                     gate_is_open = true;
                                     gate_is_open.notify_all();
                                 }
                             });
    }
    ASSERT_EQ(complete_steps(folder), (std::vector<std::int64_t>{2, 4}));

    run.run.resume = spec::Resume::path;
    run.run.resume_path = folder.file("run/ckpt/step-000000002");
    run.run.dir = folder.file("again");
    run.train.steps = 5;
    const auto resumed = test::train_and_save(run, test::world(), Keep::nothing, 5);

    EXPECT_EQ(resumed.training.weights_hash, expected.weights_hash);
}

TEST(Save, ThatFailsOnOneRankIsToldAndTrainingGoesOn) {
    const test::SharedFolder folder{test::world()};
    const auto run = saving_run(folder, 1);
    const auto expected = train_alone(run, 4);
    const bool is_last = test::world().rank() == ranks() - 1;
    test::SavedOutcome outcome;
    {
        const ScopedFault fault{is_last ? fail_step_two : nullptr};
        outcome = test::train_and_save(run, test::world(), Keep::nothing, 4);
    }

    EXPECT_EQ(outcome.training.losses, expected.losses);
    EXPECT_EQ(complete_steps(folder), (std::vector<std::int64_t>{1, 3, 4}));
    EXPECT_FALSE(fs::exists(folder.file("run/ckpt/step-000000002.tmp")));
    if (test::world().rank() == 0) {
        const auto ends = rows(folder, "checkpoint_end");
        ASSERT_EQ(ends.size(), 4u);
        EXPECT_EQ(rows(folder, "checkpoint_begin").size(), 4u);
        for (const auto& end : ends) {
            EXPECT_EQ(end["ok"], end["step"] != 2);
        }
        const auto reason = ends[1]["reason"].get<std::string>();
        EXPECT_NE(reason.find("rank " + std::to_string(ranks() - 1)), std::string::npos) << reason;
        EXPECT_NE(reason.find("shard-"), std::string::npos) << reason;
        EXPECT_NE(reason.find("No space left"), std::string::npos) << reason;
    }
}

TEST(Save, ThatCannotBeCommittedLeavesTheOlderOne) {
    const test::SharedFolder folder{test::world()};
    const auto run = saving_run(folder, 2);
    const auto outcome =
        test::train_and_save(run, test::world(), Keep::nothing, 4, [&](Checkpointer&, std::int64_t step) {
            if (step == 3 && test::world().rank() == 0) {
                // A folder with the name of the pointer file cannot be replaced by a file.
                fs::remove(folder.file("run/ckpt/LATEST"));
                fs::create_directories(folder.file("run/ckpt/LATEST/in the way"));
            }
        });

    EXPECT_LT(outcome.saved_step, 4);
    if (test::world().rank() == 0) {
        const auto ends = rows(folder, "checkpoint_end");
        ASSERT_EQ(ends.size(), 2u);
        EXPECT_EQ(ends.back()["ok"], false);
        EXPECT_NE(ends.back()["reason"].get<std::string>().find("LATEST"), std::string::npos)
            << ends.back()["reason"];
    }
}

TEST(Save, GoesIntoTheFolderOfTheRunWhateverItIsCalled) {
    const test::SharedFolder folder{test::world()};
    const auto run = saving_run(folder, 2);
    // The save of step 2 may still be running.
    test::train_and_save(run, test::world(), Keep::nothing, 4, [&](Checkpointer&, std::int64_t step) {
        if (step == 3 && test::world().rank() == 0) {
            fs::rename(folder.file("run"), folder.file("other"));
        }
    });

    EXPECT_FALSE(fs::exists(folder.file("run"))) << "nobody has made it again";
    for (const std::int64_t step : {2, 4}) {
        const auto path = folder.file("other/ckpt/") + checkpoint::folder_name(step);
        EXPECT_TRUE(checkpoint::CheckpointReader{path}.verify().empty()) << path;
    }
}

TEST(Save, MakesTheFolderAnewThatSomebodyHasRemoved) {
    const test::SharedFolder folder{test::world()};
    const auto run = saving_run(folder, 2);
    const auto expected = train_alone(run, 6);
    const auto outcome =
        test::train_and_save(run, test::world(), Keep::nothing, 6, [&](Checkpointer&, std::int64_t step) {
            std::error_code again;
            while (step == 3 && test::world().rank() == 0 && fs::exists(folder.file("run"))) {
                fs::remove_all(folder.file("run"), again);
            }
        });

    EXPECT_EQ(outcome.training.losses, expected.losses);
    EXPECT_EQ(complete_steps(folder), (std::vector<std::int64_t>{4, 6}))
        << "that of step 2 is lost, as it was asked for";
    ASSERT_EQ(outcome.saved_step, 6);
    EXPECT_TRUE(checkpoint::CheckpointReader{folder.file("run/ckpt/step-000000006")}.verify().empty());
    if (test::world().rank() == 0) {
        EXPECT_TRUE(fs::exists(folder.file("run/deck.effective.yaml")));
        EXPECT_EQ(rows(folder, "checkpoint_end").back()["ok"], true) << "metrics go on there";
    }
}

TEST(Save, NamesNoneThatSomebodyHasRemoved) {
    const test::SharedFolder folder{test::world()};
    const auto run = saving_run(folder, 1);
    const ScopedFault fault{test::world().rank() == 0 ? fail_after_step_one : nullptr};
    const auto outcome = test::train_and_save(run, test::world(), Keep::nothing, 20,
                                              [&](Checkpointer& checkpointer, std::int64_t step) {
                                                  if (step == 3 && test::world().rank() == 0) {
                                                      EXPECT_EQ(checkpointer.saved_step(), 1);
                                                      fs::remove_all(folder.file("run/ckpt"));
                                                  }
                                              });
    EXPECT_NE(outcome.error.find("there is no checkpoint"), std::string::npos) << outcome.error;
}

std::vector<std::string> flushed;

int note_flushes(const char* path, std::int64_t, std::int64_t bytes) {
    if (bytes == 0 &&
        (std::strstr(path, "metrics.jsonl") != nullptr || std::strstr(path, "COMPLETE") != nullptr)) {
        flushed.emplace_back(fs::path{path}.filename());
    }
    return 0;
}

TEST(Save, HasTheRowsOfItsStepsOnDiskFirst) {
    const test::SharedFolder folder{test::world()};
    const auto run = saving_run(folder, 1000);
    flushed.clear();
    {
        const ScopedFault fault{test::world().rank() == 0 ? note_flushes : nullptr};
        test::train_and_save(run, test::world(), Keep::nothing, 2);
    }
    if (test::world().rank() == 0) {
        ASSERT_FALSE(flushed.empty());
        EXPECT_EQ(flushed.front(), "metrics.jsonl");
        EXPECT_NE(std::ranges::find(flushed, "COMPLETE"), flushed.end());
    }
}

TEST(Save, EndsTheRunOnAllRanksWhenItFailsAgainAndAgain) {
    const test::SharedFolder folder{test::world()};
    const auto run = saving_run(folder, 1);
    test::SavedOutcome outcome;
    {
        const ScopedFault fault{test::world().rank() == 0 ? fail_always : nullptr};
        outcome = test::train_and_save(run, test::world(), Keep::nothing, 20);
    }

    EXPECT_NE(outcome.error.find("6 checkpoints in a row"), std::string::npos) << outcome.error;
    EXPECT_EQ(outcome.saved_step, -1);
    EXPECT_LT(outcome.training.losses.size(), 20u);
    EXPECT_TRUE(complete_steps(folder).empty());
}

TEST(Save, IsDueByTimeAsTheFirstRankSeesIt) {
    const test::SharedFolder folder{test::world()};
    auto run = saving_run(folder, 0);
    run.checkpoint.every = spec::Interval{.seconds = 1e-9};

    test::train_and_save(run, test::world(), Keep::nothing, 4);

    EXPECT_EQ(complete_steps(folder), (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST(Save, HappensWhenAnyRankAsks) {
    const test::SharedFolder folder{test::world()};
    const auto run = saving_run(folder, 1000);

    test::train_and_save(run, test::world(), Keep::nothing, 5,
                         [](Checkpointer& checkpointer, std::int64_t step) {
                             if (step == 2 && test::world().rank() == ranks() - 1) {
                                 checkpointer.request();
                             }
                         });

    EXPECT_EQ(complete_steps(folder), (std::vector<std::int64_t>{3, 5})) << "once, and at the end";
}

TEST(Save, LetsOldOnesGoAndKeepsMilestones) {
    const test::SharedFolder folder{test::world()};
    auto run = saving_run(folder, 1);
    run.checkpoint.keep_last = 2;
    run.checkpoint.keep_every_steps = 3;

    test::train_and_save(run, test::world(), Keep::nothing, 8);

    EXPECT_EQ(complete_steps(folder), (std::vector<std::int64_t>{3, 6, 7, 8}));
}

TEST(Resume, FallsBackToTheNewestThatCanBeRead) {
    const test::SharedFolder folder{test::world()};
    const auto run = saving_run(folder, 1);
    test::train_and_save(run, test::world(), Keep::nothing, 3);
    if (test::world().rank() == 0) {
        // Flip one bit in data that only the last rank reads.
        const checkpoint::CheckpointReader reader{folder.file("run/ckpt/step-000000003")};
        const auto& piece = reader.manifest().pieces.back();
        const auto name = reader.manifest().files[static_cast<std::size_t>(piece.file)].name;
        std::fstream file{folder.file("run/ckpt/step-000000003/" + name),
                          std::ios::in | std::ios::out | std::ios::binary};
        file.seekg(piece.offset_bytes);
        const auto byte = static_cast<char>(file.get() ^ 4);
        file.seekp(piece.offset_bytes);
        file.put(byte);
    }
    comm::barrier(test::world());

    const auto resumed = test::train_and_save(run, test::world(), Keep::nothing, 4);

    EXPECT_EQ(resumed.steps_before, 2);
    EXPECT_EQ(resumed.training.weights_hash, train_alone(run, 4).weights_hash);
}

TEST(Resume, NeedsACheckpointWhereTheDeckSaysSo) {
    const test::SharedFolder folder{test::world()};
    auto run = saving_run(folder, 1);
    run.run.resume = spec::Resume::must;
    try {
        test::train_and_save(run, test::world(), Keep::nothing, 1);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
        EXPECT_NE(std::string{error.what()}.find("there is no checkpoint in"), std::string::npos)
            << error.what();
    }
}

TEST(Resume, RefusesTheCheckpointOfAnotherModelOnAllRanks) {
    const test::SharedFolder folder{test::world()};
    auto run = saving_run(folder, 1);
    test::train_and_save(run, test::world(), Keep::nothing, 1);
    run.model.ffn_hidden += 4;
    try {
        test::train_and_save(run, test::world(), Keep::nothing, 2);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::deck);
        EXPECT_NE(std::string{error.what()}.find("mlp"), std::string::npos) << error.what();
    }
}

TEST(Resume, BeginsMomentsAtZeroWhereTheCheckpointHasNone) {
    const test::SharedFolder folder{test::world()};
    auto run = saving_run(folder, 1000);
    run.train.only = {"layers.1.*"};
    test::train_and_save(run, test::world(), Keep::nothing, 2);

    run.train.only.clear();
    const auto resumed = test::train_and_save(run, test::world(), Keep::nothing, 3);

    EXPECT_EQ(resumed.steps_before, 2);
    EXPECT_EQ(resumed.saved_step, 3);
}

}  // namespace
}  // namespace ziggurat::train
