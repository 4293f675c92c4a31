#include "checkpoint/catalogue/catalogue.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/verify.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stored_checkpoint.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;

const std::vector<test::StoredNumbers> one_tensor = {{PieceKind::weights, "a", {2, 2}, {1, 2, 3, 4}}};

/// A run with checkpoints after steps 5 and 10.
class CatalogueOfRun : public ::testing::Test {
  protected:
    CatalogueOfRun() {
        test::store(root(), one_tensor, test::manifest_of_step(5));
        test::store(root(), one_tensor, test::manifest_of_step(10));
    }

    std::string root() const { return scratch_.path() + "/ckpt"; }
    std::string step(std::int64_t number) const { return root() + "/" + folder_name(number); }

    static void write(const std::string& path, const std::string& text) { std::ofstream{path} << text; }

    test::ScratchFolder scratch_;
};

/// Returns the kind of the error, and its message in `what`.
ErrorKind error_of(const std::string& path, std::string& what) {
    try {
        catalogue(path);
    } catch (const Error& error) {
        what = error.what();
        return error.kind();
    }
    what = "no error";
    return ErrorKind::internal;
}

TEST_F(CatalogueOfRun, TakesARunItsFolderOrOneStep) {
    for (const std::string& path : {scratch_.path(), scratch_.path() + "/", root(), root() + "/"}) {
        const auto found = catalogue(path);
        ASSERT_EQ(found.entries.size(), 2U) << path;
        EXPECT_EQ(found.entries[0].step, 5);
        EXPECT_EQ(found.entries[1].manifest->progress.tokens, 10000);
        EXPECT_EQ(found.newest()->path, found.entries[1].path);
        EXPECT_FALSE(found.is_one_step);
    }
    const auto one = catalogue(step(5) + "/");
    ASSERT_EQ(one.entries.size(), 1U);
    EXPECT_TRUE(one.is_one_step);
    EXPECT_EQ(one.newest()->step, 5);
}

TEST_F(CatalogueOfRun, KnowsACheckpointUnderAnotherName) {
    fs::rename(step(5), scratch_.file("best"));

    const auto one = catalogue(scratch_.file("best"));

    EXPECT_TRUE(one.is_one_step);
    EXPECT_EQ(one.newest()->step, 5);
}

TEST_F(CatalogueOfRun, CountsTheBytesOfAllFiles) {
    std::int64_t bytes = 0;
    for (const auto& file : fs::directory_iterator{step(5)}) {
        bytes += static_cast<std::int64_t>(file.file_size());
    }

    EXPECT_EQ(catalogue(root()).entries[0].bytes, bytes);
    EXPECT_GT(catalogue(root()).entries[0].written, 1.7e9);
}

TEST_F(CatalogueOfRun, SeesWhatIsCalledLikeACheckpointAndIsNone) {
    write(step(15), "a file");
    fs::create_symlink(step(20), step(20));
    fs::create_symlink(scratch_.file("nowhere"), step(25));
    fs::create_directory(step(30));
    ASSERT_EQ(::mkfifo((step(30) + "/COMPLETE").c_str(), 0666), 0);
    fs::create_directory(step(35));
    write(step(35) + "/COMPLETE", "");
    fs::resize_file(step(35) + "/COMPLETE", std::uintmax_t{1} << 42);

    const auto found = catalogue(root());

    ASSERT_EQ(found.entries.size(), 7U);
    for (std::size_t k = 2; k < found.entries.size(); ++k) {
        EXPECT_EQ(found.entries[k].state, EntryState::damaged) << found.entries[k].path;
        EXPECT_NE(found.entries[k].obstacle, "") << found.entries[k].path;
    }
    EXPECT_EQ(found.newest()->step, 10);
    const FoundCheckpoint newest = find_newest(root());
    EXPECT_EQ(newest.path, std::optional{step(10)});
    EXPECT_EQ(newest.notes.size(), 5U) << "each that was passed over";
    EXPECT_EQ(list_complete(root()).size(), 3U) << "the sparse one is a file: only reading shows what it is";
}

TEST_F(CatalogueOfRun, WaitsForNobodyWhoWouldWriteLatest) {
    fs::remove(root() + "/LATEST");
    ASSERT_EQ(::mkfifo((root() + "/LATEST").c_str(), 0666), 0);

    EXPECT_EQ(find_newest(root()).path, std::optional{step(10)});
    EXPECT_EQ(verify_checkpoint(step(10)).defects.size(), 1U);
    repair_folder(root());
    EXPECT_EQ(verify_checkpoint(step(10)).defects.size(), 0U) << "the pipe was replaced";
}

TEST_F(CatalogueOfRun, ListsAnUnfinishedSaveWithoutTakingIt) {
    fs::create_directory(step(15) + ".tmp");
    write(step(15) + ".tmp/shard-00000.h5", "half");

    const auto found = catalogue(root());

    ASSERT_EQ(found.entries.size(), 3U);
    EXPECT_EQ(found.entries[2].state, EntryState::unfinished);
    EXPECT_EQ(found.entries[2].bytes, 4);
    EXPECT_EQ(found.newest()->step, 10);
}

TEST_F(CatalogueOfRun, SaysWhatIsWrongWithADamagedOne) {
    write(step(10) + "/COMPLETE", "{}");
    fs::create_directory(step(20));

    const auto found = catalogue(root());

    ASSERT_EQ(found.entries.size(), 3U);
    EXPECT_EQ(found.newest()->step, 5);
    for (const std::size_t i : {1U, 2U}) {
        EXPECT_EQ(found.entries[i].state, EntryState::damaged);
        EXPECT_NE(found.entries[i].obstacle.find("COMPLETE"), std::string::npos) << found.entries[i].obstacle;
    }
    std::vector<std::string> notes;
    EXPECT_EQ(choose(root(), notes), found.entries[0].path);
    EXPECT_EQ(notes.size(), 2U);
}

TEST_F(CatalogueOfRun, AStepUnderTheNameOfAnotherIsDamaged) {
    fs::rename(step(10), step(12));

    const auto found = catalogue(root());

    EXPECT_EQ(found.entries[1].state, EntryState::damaged);
    EXPECT_EQ(found.entries[1].obstacle, "COMPLETE belongs to step 10");
}

TEST_F(CatalogueOfRun, PassesOverWhatIsCalledOtherwise) {
    for (const char* name :
         {"step-", "step-x", "step-5x", "step--5", "stepping", "step-000000005.superseded"}) {
        fs::create_directory(root() + "/" + name);
    }

    EXPECT_EQ(catalogue(root()).entries.size(), 2U);
}

/// The deck text of a checkpoint can be changed, with its hash, by any user with write access.
TEST_F(CatalogueOfRun, ADeckThatIsNotWholeIsADamageAndPassedOver) {
    for (const char* deck : {"deck_version: 1\ninclude: [/etc/passwd]\n",
                             "deck_version: 1\nrun: {dir: '${env:HOME}'}\n", "deck_version: [\n"}) {
        auto manifest = test::manifest_of_step(20);
        manifest.deck = deck;
        fs::remove_all(step(20));
        const std::string path = test::store(root(), one_tensor, manifest);

        const auto defects = verify_checkpoint(path).defects;
        ASSERT_EQ(defects.size(), 1U) << deck;
        EXPECT_EQ(defects[0].file, "COMPLETE");
        EXPECT_TRUE(defects[0].what.starts_with("its deck cannot be used: ")) << defects[0].what;
        EXPECT_EQ(find_newest(root()).path, step(10)) << deck;
    }
}

TEST_F(CatalogueOfRun, ADeckOfAnotherVersionOrNoneIsNoDamage) {
    for (const char* deck : {"", "deck_version: 7\nmodel: {of: tomorrow}\n"}) {
        auto manifest = test::manifest_of_step(20);
        manifest.deck = deck;
        fs::remove_all(step(20));
        const std::string path = test::store(root(), one_tensor, manifest);

        EXPECT_TRUE(verify_checkpoint(path).defects.empty()) << deck;
        EXPECT_EQ(find_newest(root()).path, path) << deck;
    }
}

TEST_F(CatalogueOfRun, ChoosesTheNewestThatVerifies) {
    std::vector<std::string> notes;
    EXPECT_EQ(choose_verified(scratch_.path(), notes), step(10));
    write(step(10) + "/COMPLETE", "{}");
    notes.clear();

    EXPECT_EQ(choose_verified(scratch_.path(), notes), step(5));
    EXPECT_FALSE(notes.empty());
    EXPECT_EQ(choose_verified(step(5), notes), step(5));
    EXPECT_THROW(choose_verified(step(10), notes), Error);
}

TEST(Catalogue, SaysWhyThereIsNothing) {
    const test::ScratchFolder scratch;
    std::string what;

    EXPECT_EQ(error_of(scratch.file("no"), what), ErrorKind::deck);
    EXPECT_NE(what.find("there is no such folder"), std::string::npos) << what;
    std::ofstream{scratch.file("file")} << "text";
    EXPECT_EQ(error_of(scratch.file("file"), what), ErrorKind::deck);
    EXPECT_NE(what.find("it is not a folder"), std::string::npos) << what;
    EXPECT_EQ(error_of(scratch.path(), what), ErrorKind::checkpoint);
    EXPECT_NE(what.find("there is no checkpoint in"), std::string::npos) << what;
    fs::create_directory(scratch.file("ckpt"));
    EXPECT_EQ(error_of(scratch.path(), what), ErrorKind::checkpoint);
    EXPECT_NE(what.find("/ckpt'"), std::string::npos) << what;
    fs::create_directory(scratch.file("ckpt/step-000000001.tmp"));
    std::vector<std::string> notes;
    EXPECT_THROW(choose(scratch.path(), notes), Error);
    EXPECT_THROW(choose_verified(scratch.path(), notes), Error);
}

}  // namespace
}  // namespace ziggurat::checkpoint
