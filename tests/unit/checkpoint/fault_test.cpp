// A disk that fails or is full during a save.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "checkpoint/catalogue/catalogue.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/verify.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/checkpoint/stored_tensors.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::Draw;

std::atomic<int> operations_until_fault{0};
std::atomic<int> fault_errno{0};

int fail_once(const char*, std::int64_t, std::int64_t) {
    return operations_until_fault-- == 0 ? fault_errno.load() : 0;
}

std::vector<test::WriterShare> draw_shares(std::uint64_t seed) {
    Draw draw{seed};
    std::vector<test::Tensor> tensors = test::draw_tensors(2, 30, draw);
    tensors.push_back(test::draw_tensor(PieceKind::weights, "large", {300, 100}, spec::DType::f32, draw));
    return test::share_out(tensors, 2, draw);
}

void expect_only(const std::string& root, std::int64_t step) {
    std::size_t entries = 0;
    for ([[maybe_unused]] const fs::directory_entry& entry : fs::directory_iterator{root}) {
        ++entries;
    }
    EXPECT_EQ(entries, 2u) << "something is left of the save that failed";
    EXPECT_EQ(test::contents_of(root + "/LATEST").substr(0, 14), folder_name(step));
    const FoundCheckpoint found = find_newest(root);
    EXPECT_EQ(found.path, root + "/" + folder_name(step));
    EXPECT_TRUE(found.notes.empty());
    EXPECT_TRUE(CheckpointReader{*found.path}.verify().empty());
}

/// Saves step 2 after step 1, with each write, flush and rename failing in turn.
void fail_each_operation(int error_number, std::int64_t step) {
    test::keep_scratch_in_memory();
    const test::ScratchFolder scratch;
    const std::string root = scratch.file("ckpt");
    test::save(root, 1, draw_shares(1));
    const std::vector<test::WriterShare> shares = draw_shares(2);
    fault_errno = error_number;
    int faults = 0;
    for (bool has_failed = true; has_failed; ++faults) {
        SCOPED_TRACE(faults);
        operations_until_fault = faults;
        set_write_fault(fail_once);
        has_failed = false;
        try {
            test::save(root, step, shares);
        } catch (const Error& error) {
            has_failed = true;
            EXPECT_EQ(error.kind(), ErrorKind::resource);
            const std::string what = error.what();
            EXPECT_NE(what.find(std::strerror(error_number)), std::string::npos) << what;
            EXPECT_NE(what.find(root), std::string::npos) << what;
        }
        set_write_fault(nullptr);
        if (has_failed) {
            expect_only(root, 1);
        }
        ASSERT_LT(faults, 200);
    }
    EXPECT_GT(faults, 20) << "fewer operations than a save must have";
    EXPECT_TRUE(CheckpointReader{root + "/" + folder_name(step)}.verify().empty());
}

TEST(Fault, AFullDiskAtAnyInstantLeavesTheOlderCheckpoint) {
    fail_each_operation(ENOSPC, 2);
}

TEST(Fault, AFailingDiskAtAnyInstantLeavesTheOlderCheckpoint) {
    fail_each_operation(EIO, 2);
}

TEST(Fault, SavingTheSameStepAgainMayFailAtAnyInstant) {
    fail_each_operation(ENOSPC, 1);
}

/// Ends the process, as a kill does, at the operation that the counter reaches.
int end_process(const char*, std::int64_t, std::int64_t) {
    if (operations_until_fault-- == 0) {
        _exit(9);
    }
    return 0;
}

/// Returns the notes of a verification of all checkpoints, and expects no defects.
std::string verify_resumable(const std::string& root) {
    std::string notes;
    if (fs::is_empty(root)) {
        return notes;  // the first save has only made the folder of checkpoints
    }
    for (const CatalogueEntry& entry : catalogue(root).entries) {
        if (entry.state == EntryState::unfinished) {
            notes += entry.obstacle;
            continue;
        }
        EXPECT_EQ(entry.state, EntryState::complete) << entry.path << ": " << entry.obstacle;
        const Verification found = verify_checkpoint(entry.path);
        EXPECT_TRUE(found.defects.empty())
            << found.defects.front().file << ": " << found.defects.front().what;
        notes += found.note;
    }
    return notes;
}

/// Kills the save of a step after those of `before`, at each operation in turn.
void kill_at_each_operation(const std::vector<std::int64_t>& before, std::int64_t step) {
    test::keep_scratch_in_memory();
    const std::vector<test::WriterShare> shares = draw_shares(2);
    int notes = 0, kills = 0;
    for (bool is_killed = true; is_killed; ++kills) {
        SCOPED_TRACE(kills);
        const test::ScratchFolder scratch;
        const std::string root = scratch.file("ckpt");
        for (const std::int64_t earlier : before) {
            test::save(root, earlier, draw_shares(1));
        }
        const pid_t child = fork();
        if (child == 0) {
            operations_until_fault = kills;
            set_write_fault(end_process);
            test::save(root, step, shares);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        is_killed = WEXITSTATUS(status) == 9;
        ASSERT_TRUE(WIFEXITED(status) && (is_killed || WEXITSTATUS(status) == 0));
        notes += verify_resumable(root).empty() ? 0 : 1;
        const auto newest = find_newest(root).path;
        EXPECT_EQ(newest.has_value(), !list_complete(root).empty());
        repair_folder(root);
        EXPECT_TRUE(find_newest(root).notes.empty());
        EXPECT_EQ(find_newest(root).path, newest);
        if (newest) {
            EXPECT_EQ(verify_resumable(root), "") << "the next start has repaired the folder";
        }
        ASSERT_LT(kills, 200);
    }
    EXPECT_GT(notes, 10) << "fewer unfinished states than operations of a save";
}

TEST(Fault, AKillDuringASaveLeavesNoDefect) {
    kill_at_each_operation({1}, 2);
}

TEST(Fault, AKillDuringTheFirstSaveLeavesNoDefect) {
    kill_at_each_operation({}, 1);
}

TEST(Fault, AKillDuringASecondSaveOfAStepLeavesNoDefect) {
    kill_at_each_operation({1}, 1);
}

TEST(Fault, AKillDuringASaveBeforeALaterStepLeavesNoDefect) {
    kill_at_each_operation({1, 3}, 2);
}

TEST(Fault, ALimitOnTheSizeOfFilesIsAnErrorLikeOthers) {
    const test::ScratchFolder scratch;
    const std::string root = scratch.file("ckpt");
    test::save(root, 1, draw_shares(1));
    const std::vector<test::WriterShare> shares = draw_shares(2);

    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{40'000, 40'000};
        setrlimit(RLIMIT_FSIZE, &limit);
        int code = 1;
        try {
            test::save(root, 2, shares);
        } catch (const Error& error) {
            code = error.kind() == ErrorKind::resource &&
                           std::string{error.what()}.find("ulimit -f") != std::string::npos
                       ? 0
                       : 2;
        }
        _exit(code);
    }
    int status = -1;
    waitpid(child, &status, 0);

    EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    expect_only(root, 1);
}

TEST(Fault, AFolderThatMayNotBeWrittenIsNamed) {
    const test::ScratchFolder scratch;
    std::ofstream{scratch.file("ckpt")} << "a file where a folder should be";
    try {
        Commit{scratch.file("ckpt"), 1};
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        EXPECT_NE(std::string{error.what()}.find("ckpt"), std::string::npos);
    }
}

TEST(Fault, AFolderThatIsRemovedMeanwhileIsSaidByItsWriter) {
    const test::ScratchFolder scratch;
    Commit commit{scratch.file("ckpt"), 7};
    const Piece piece{PieceKind::weights, "a", {64}, spec::DType::f32, whole({64})};
    const PieceSource source{
        piece, nullptr, [&](std::int64_t, std::span<std::byte>) { fs::remove_all(scratch.file("ckpt")); }};
    try {
        write_shard(commit.folder(), 0, {&source, 1});
        FAIL() << "who waits for the file would wait long";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        EXPECT_NE(std::string{error.what()}.find("was removed while it was written"), std::string::npos)
            << error.what();
    }
}

}  // namespace
}  // namespace ziggurat::checkpoint
