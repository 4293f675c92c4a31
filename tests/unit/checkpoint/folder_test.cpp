// Creation, retention, discovery and removal of checkpoints.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/error.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/checkpoint/stored_tensors.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::Draw;

/// A run's `ckpt` with one small tensor in every save.
class Folder {
  public:
    std::string save(std::int64_t step,
                     const RetentionPolicy& keep = {},
                     const std::function<void(Manifest&)>& change = {}) {
        Draw draw{static_cast<std::uint64_t>(step)};
        const std::vector<test::Tensor> tensors{
            test::draw_tensor(PieceKind::weights, "w", {8}, spec::DType::f32, draw)};
        return test::save(root(), step, test::share_out(tensors, 2, draw), keep, change);
    }
    std::string root() const { return scratch_.file("ckpt"); }
    std::string path(std::int64_t step) const { return root() + "/" + folder_name(step); }
    std::string latest() const { return test::contents_of(root() + "/LATEST").substr(0, 14); }

    std::vector<std::string> entries() const {
        std::vector<std::string> names;
        for (const fs::directory_entry& entry : fs::directory_iterator{root()}) {
            names.push_back(entry.path().filename().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }

  private:
    test::ScratchFolder scratch_;
};

void overwrite(const std::string& path, const std::string& text) {
    std::ofstream{path, std::ios::binary | std::ios::trunc} << text;
}

using Names = std::vector<std::string>;

TEST(Folder, TheNewestStayAndSoDoMilestones) {
    Folder folder;
    for (std::int64_t step = 10; step <= 70; step += 10) {
        folder.save(step, {2, 30});
        EXPECT_EQ(folder.latest(), folder_name(step));
    }
    EXPECT_EQ(folder.entries(), (Names{"LATEST", folder_name(30), folder_name(60), folder_name(70)}));
    folder.save(80, {2, 30});
    EXPECT_EQ(folder.entries(),
              (Names{"LATEST", folder_name(30), folder_name(60), folder_name(70), folder_name(80)}));
    folder.save(90, {0, 0});
    EXPECT_EQ(folder.entries(), (Names{"LATEST", folder_name(90)})) << "the newest is never let go";
}

TEST(Folder, RunsRemoveOnlyTheirOwnThroughALink) {
    const test::ScratchFolder scratch;
    Folder folder;
    const auto of_run = [](const char* dir) {
        return [dir](Manifest& manifest) {
            manifest.deck = std::string{"run: {dir: "} + dir + ", working_folder: /w}\n";
        };
    };
    folder.save(1, {9, 0}, of_run("a"));
    folder.save(2, {9, 0}, of_run("a"));
    folder.save(5, {9, 0}, [](Manifest& manifest) { manifest.deck = ""; });
    fs::create_directory_symlink(folder.root(), scratch.file("ckpt"));
    const auto save_linked = [&](std::int64_t step, const char* dir) {
        Draw draw{1};
        const std::vector<test::Tensor> tensors{
            test::draw_tensor(PieceKind::weights, "w", {8}, spec::DType::f32, draw)};
        test::save(scratch.file("ckpt"), step, test::share_out(tensors, 1, draw), {1, 0}, of_run(dir));
    };
    save_linked(6, "b");
    save_linked(7, "b");
    EXPECT_EQ(folder.entries(),
              (Names{"LATEST", folder_name(1), folder_name(2), folder_name(5), folder_name(7)}));
    save_linked(7, "c");
    EXPECT_EQ(folder.entries(), (Names{"LATEST", folder_name(1), folder_name(2), folder_name(5),
                                       folder_name(7), folder_name(7) + ".superseded"}));
    folder.save(8, {1, 0}, of_run("d"));
    EXPECT_EQ(folder.entries(), (Names{"LATEST", folder_name(7) + ".superseded", folder_name(8)}))
        << "all in its own folder are a run's";
}

TEST(Folder, NothingIsAFreshStart) {
    const test::ScratchFolder scratch;
    EXPECT_TRUE(find_newest(scratch.file("none")).is_empty);
    fs::create_directories(scratch.file("ckpt/step-000000003.tmp"));
    const FoundCheckpoint found = find_newest(scratch.file("ckpt"));
    EXPECT_TRUE(found.is_empty);
    EXPECT_FALSE(found.path);
    EXPECT_TRUE(found.notes.empty());
}

TEST(Folder, TheNewestThatVerifiesIsFound) {
    Folder folder;
    for (const std::int64_t step : {1, 2, 3, 4}) {
        folder.save(step, {9, 0});
    }
    const auto newest = [&](std::size_t notes) {
        const FoundCheckpoint found = find_newest(folder.root());
        EXPECT_FALSE(found.is_empty);
        EXPECT_EQ(found.notes.size(), notes);
        return found.path.value_or("");
    };
    EXPECT_EQ(newest(0), folder.path(4));
    EXPECT_EQ(find_newest(folder.root(), 4).path, folder.path(3));

    fs::remove(folder.path(4) + "/shard-00001.h5");
    EXPECT_EQ(newest(1), folder.path(3));
    fs::remove(folder.path(3) + "/COMPLETE");
    EXPECT_EQ(newest(2), folder.path(2));
    fs::copy_file(folder.path(1) + "/COMPLETE", folder.path(2) + "/COMPLETE",
                  fs::copy_options::overwrite_existing);
    EXPECT_EQ(newest(3), folder.path(1));
    fs::copy_file(folder.path(2) + "/shard-00000.h5", folder.path(1) + "/shard-00000.h5",
                  fs::copy_options::overwrite_existing);
    const FoundCheckpoint found = find_newest(folder.root());
    EXPECT_FALSE(found.path);
    EXPECT_FALSE(found.is_empty) << "there are checkpoints, and none can be used";
}

TEST(Folder, ADamagedOrLateLatestIsNoObstacle) {
    Folder folder;
    folder.save(1);
    const std::string old = test::contents_of(folder.root() + "/LATEST");
    folder.save(2);
    for (const std::string& text :
         {old, std::string{"step-000000002\n"}, std::string{}, std::string{"\xff\n"},
          std::string{"step-000000009 0000000000000001\n"}}) {
        overwrite(folder.root() + "/LATEST", text);
        const FoundCheckpoint found = find_newest(folder.root());
        EXPECT_EQ(found.path, folder.path(2));
        EXPECT_EQ(found.notes.size(), 1u) << text;
    }
    fs::remove(folder.root() + "/LATEST");
    EXPECT_EQ(find_newest(folder.root()).path, folder.path(2));
    folder.save(3);
    EXPECT_EQ(folder.latest(), folder_name(3));
    EXPECT_TRUE(find_newest(folder.root()).notes.empty());
}

TEST(Folder, TheSameStepMayBeSavedAgain) {
    Folder folder;
    folder.save(5);
    overwrite(folder.path(5) + "/shard-00000.h5", "damaged");

    folder.save(5);

    EXPECT_EQ(folder.entries(), (Names{"LATEST", folder_name(5)}));
    EXPECT_TRUE(CheckpointReader{folder.path(5)}.verify().empty());
}

TEST(Folder, StepsOfAPastThatWasGivenUpAreSetAside) {
    Folder folder;
    for (const std::int64_t step : {10, 20, 30}) {
        folder.save(step, {9, 0});
    }

    folder.save(15, {2, 0});

    EXPECT_EQ(folder.latest(), folder_name(15));
    EXPECT_EQ(find_newest(folder.root()).path, folder.path(15));
    EXPECT_EQ(folder.entries(), (Names{"LATEST", folder_name(10), folder_name(15),
                                       folder_name(20) + ".superseded", folder_name(30) + ".superseded"}));
}

TEST(Folder, AManifestThatReadersWouldRefuseIsNotWritten) {
    const std::vector<std::pair<const char*, std::function<void(Manifest&)>>> mistakes{
        {"exactly once",
         [](Manifest& manifest) {
             for (StoredPiece& stored : manifest.pieces) {
                 stored.piece.shape = {9};
             }
         }},
        {"share byte", [](Manifest& manifest) { manifest.pieces.push_back(manifest.pieces.front()); }},
        {"exceeds 'shard-", [](Manifest& manifest) { manifest.pieces.front().offset_bytes += 1 << 20; }},
        {"is inconsistent", [](Manifest& manifest) { manifest.progress.skipped = 100; }},
        {"unprintable", [](Manifest& manifest) { manifest.layout = "2 ranks\x1b[2J"; }},
        {"its number of ranks is 0", [](Manifest& manifest) { manifest.ranks = 0; }},
    };
    for (const auto& [reason, change] : mistakes) {
        Folder folder;
        folder.save(10);
        try {
            folder.save(20, {}, change);
            ADD_FAILURE() << "written: " << reason;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::internal);
            EXPECT_NE(std::string{error.what()}.find(reason), std::string::npos) << error.what();
        }
        EXPECT_EQ(folder.entries(), (Names{"LATEST", folder_name(10)})) << reason;
        EXPECT_EQ(folder.latest(), folder_name(10));
        EXPECT_TRUE(CheckpointReader{folder.path(10)}.verify().empty());
    }
}

TEST(Folder, WhatSavesThatNeverEndedHaveLeftGoesWithTheNext) {
    Folder folder;
    folder.save(1);
    fs::create_directories(folder.root() + "/step-000000002.tmp");
    overwrite(folder.root() + "/step-000000002.tmp/shard-00000.h5", "half");
    overwrite(folder.root() + "/LATEST.tmp", "half");
    folder.save(3);
    EXPECT_EQ(folder.entries(), (Names{"LATEST", folder_name(1), folder_name(3)}));
}

TEST(Folder, WhatAJobThatDiedHasLeftIsPutRight) {
    Folder folder;
    folder.save(1);
    const std::string late = test::contents_of(folder.root() + "/LATEST");
    folder.save(2);
    const std::string right = test::contents_of(folder.root() + "/LATEST");
    fs::create_directories(folder.root() + "/step-000000001.old.tmp");
    overwrite(folder.root() + "/LATEST.tmp", "half");
    overwrite(folder.root() + "/LATEST", late);

    repair_folder(folder.root());

    EXPECT_EQ(folder.entries(), (Names{"LATEST", folder_name(1), folder_name(2)}));
    EXPECT_EQ(test::contents_of(folder.root() + "/LATEST"), right);
    EXPECT_NO_THROW(repair_folder(folder.root() + "/none"));
    overwrite(folder.root() + "/LATEST", "\xff");
    repair_folder(folder.root());
    EXPECT_EQ(test::contents_of(folder.root() + "/LATEST"), right);
}

TEST(Folder, OnlyNamesOfStepsAreSteps) {
    EXPECT_EQ(step_of_folder("a/step-000000012"), 12);
    EXPECT_EQ(step_of_folder("step-1234567890123"), 1234567890123);
    for (const char* name : {"step-000000012.tmp", "step-12", "step-", "step-0000000012", "step--00000001",
                             "step-00000001x", "stop-000000012", "", "step-99999999999999999999"}) {
        EXPECT_FALSE(step_of_folder(name)) << name;
    }
}

TEST(Folder, MayLieWhereNobodySaysHowMuchIsFree) {
    EXPECT_EQ(free_bytes("/proc"), std::nullopt);
    EXPECT_GT(free_bytes("/dev/shm").value_or(0), 0);
}

TEST(Folder, ListsWhatIsComplete) {
    Folder folder;
    EXPECT_TRUE(list_complete(folder.root()).empty());
    folder.save(200, {9, 0});
    folder.save(1000, {9, 0});
    fs::create_directories(folder.root() + "/step-000000500");
    EXPECT_EQ(list_complete(folder.root()), (Names{folder.path(200), folder.path(1000)}));
}

}  // namespace
}  // namespace ziggurat::checkpoint
