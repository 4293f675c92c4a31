// Readers of checkpoints that a running training removes.
#include "checkpoint/catalogue/read_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string_view>

#include "checkpoint/catalogue/catalogue.hpp"
#include "checkpoint/checkpoint_files.hpp"
#include "storage/io_error.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/checkpoint/stored_tensors.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Action before one of the reads, and errors of the following reads.
struct Meanwhile {
    std::function<void()> act;
    std::atomic<int> reads_before{0};
    std::string gone;  ///< paths that contain it are removed on the server
};
Meanwhile* meanwhile = nullptr;
std::atomic<bool> is_acting{false};

int at_read(const char* path, std::int64_t, std::int64_t) {
    if (is_acting) {
        return 0;  // a read of the training itself
    }
    if (meanwhile->reads_before-- == 0) {
        is_acting = true;
        meanwhile->act();
        is_acting = false;
    }
    const bool is_gone = meanwhile->reads_before < 0 && !meanwhile->gone.empty() &&
                         std::strstr(path, meanwhile->gone.c_str()) != nullptr;
    return is_gone ? ESTALE : 0;
}

/// A run that keeps one checkpoint of several files, and the actions of its training during reads.
class DuringTraining : public ::testing::Test {
  protected:
    DuringTraining() {
        test::keep_scratch_in_memory();
        save(1);
    }
    ~DuringTraining() override {
        storage::set_read_fault(nullptr);
        meanwhile = nullptr;
    }

    std::string run() const { return scratch_.path(); }
    std::string root() const { return scratch_.file("ckpt"); }
    std::string step(std::int64_t number) const { return root() + "/" + folder_name(number); }

    static std::vector<test::Tensor> tensors_of(std::int64_t number) {
        test::Draw draw{static_cast<std::uint64_t>(number)};
        std::vector<test::Tensor> tensors;
        for (const char* name : {"a", "b"}) {
            tensors.push_back(test::draw_tensor(PieceKind::weights, name, {30, 40}, spec::DType::f32, draw));
        }
        return tensors;
    }

    /// Saves step `number`, and removes older steps.
    void save(std::int64_t number) const {
        test::Draw draw{7};
        test::save(root(), number, test::share_out(tensors_of(number), 3, draw), {.last = 1});
    }

    /// Makes the training save step `number` after `reads_before` further reads.
    void saves(std::int64_t number, int reads_before = 0) {
        meanwhile_.act = [this, number] { save(number); };
        meanwhile_.reads_before = reads_before;
        meanwhile = &meanwhile_;
        storage::set_read_fault(at_read);
    }

    /// Makes the training save step 2, which removes step 1, at the first read of `work`, then at its
    /// second, until `work` makes no more reads.
    void saves_at_each_read(const std::function<void(int reads)>& work) {
        for (int reads = 0;; ++reads) {
            fs::remove_all(root());
            save(1);
            saves(2, reads);
            // Errors of a reader's constructor are not failures of the test.
            try {
                work(reads);
            } catch (const Error& error) {
                EXPECT_FALSE(fs::exists(step(1))) << error.what();
                EXPECT_LT(reads, 2) << error.what();
            }
            if (!fs::exists(step(2))) {
                EXPECT_GT(reads, 0) << "it reads";
                return;
            }
        }
    }

    static void expect_all(CheckpointReader& reader) {
        const auto tensors = tensors_of(reader.manifest().progress.step);
        std::vector<std::vector<std::byte>> read(tensors.size());
        std::vector<PieceTarget> targets;
        for (std::size_t k = 0; k < tensors.size(); ++k) {
            read[k].resize(tensors[k].bytes.size());
            targets.push_back({tensors[k].piece, read[k].data()});
        }
        reader.read(targets);
        for (std::size_t k = 0; k < tensors.size(); ++k) {
            EXPECT_EQ(read[k], tensors[k].bytes) << tensors[k].piece.tensor;
        }
    }

    std::function<void(const std::string&)> into_notes() {
        return [this](const std::string& note) { notes_.push_back(note); };
    }

    test::ScratchFolder scratch_;
    Meanwhile meanwhile_;
    std::vector<std::string> notes_;
};

TEST_F(DuringTraining, WhatIsHeldIsReadToTheEnd) {
    CheckpointReader reader{step(1)};
    saves(2);

    expect_all(reader);

    EXPECT_FALSE(fs::exists(step(1))) << "it was removed at the first of several files";
    EXPECT_FALSE(reader.is_in_place());
    EXPECT_TRUE(CheckpointReader{step(2)}.is_in_place());
}

TEST_F(DuringTraining, WhatIsHeldIsVerifiedToTheEnd) {
    saves_at_each_read([this](int reads) {
        const auto defects = CheckpointReader{step(1)}.verify();
        const bool was_held = reads > 1;  // COMPLETE was read twice
        EXPECT_TRUE(!was_held || defects.empty()) << reads << ": " << defects[0].file << defects[0].what;
    });
}

TEST_F(DuringTraining, ACheckpointSavedAnewIsAnother) {
    CheckpointReader reader{step(1)};
    reader.hold();
    save(1);

    EXPECT_FALSE(reader.is_in_place());
    expect_all(reader);
}

TEST_F(DuringTraining, TheNewestIsFoundWhateverIsRemovedMeanwhile) {
    saves_at_each_read([this](int reads) {
        const auto found = find_newest(root());
        EXPECT_THAT(found.notes, IsEmpty()) << "nothing is damaged, read " << reads;
        EXPECT_TRUE(found.path == step(1) || found.path == step(2));
    });
}

TEST_F(DuringTraining, WhatIsRemovedMeanwhileIsNoEntry) {
    saves_at_each_read([this](int reads) {
        const auto found = catalogue(run());
        for (const auto& entry : found.entries) {
            EXPECT_EQ(entry.state, EntryState::complete) << entry.obstacle;
        }
        EXPECT_NE(found.newest(), nullptr) << "read " << reads;
    });
}

TEST_F(DuringTraining, TheNewestIsReadWhenItWasRemovedBeforeItWasHeld) {
    for (const auto check : {ReadCheck::sizes, ReadCheck::hashes}) {
        saves_at_each_read([&](int reads) {
            notes_.clear();
            read_during_training(run(), check, into_notes(), expect_all);
            EXPECT_THAT(notes_, IsEmpty()) << "nobody had heard of the first, read " << reads;
        });
    }
}

TEST_F(DuringTraining, TheNextNewestIsReadWhereAServerTakesFilesAway) {
    int used = 0;
    read_during_training(run(), ReadCheck::sizes, into_notes(), [&](CheckpointReader& reader) {
        if (++used == 1) {
            meanwhile_.gone = folder_name(1) + "/shard";
            saves(2);
        }
        expect_all(reader);
        EXPECT_EQ(reader.manifest().progress.step, 2);
    });

    EXPECT_EQ(used, 2);
    EXPECT_THAT(notes_, ElementsAre(AllOf(HasSubstr("step-000000001' was removed by its training"),
                                          HasSubstr("the newest remaining one is used"))));
}

TEST_F(DuringTraining, OneThatWasNamedGivesWayToNoOther) {
    meanwhile_.gone = folder_name(1) + "/shard";
    try {
        read_during_training(step(1), ReadCheck::sizes, into_notes(), [&](CheckpointReader& reader) {
            saves(2);
            expect_all(reader);
        });
        ADD_FAILURE() << "read";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
        EXPECT_THAT(error.what(), AllOf(HasSubstr("step-000000001' was removed while it was being read"),
                                        HasSubstr("Name the run"), HasSubstr("checkpoint.keep.last")));
    }
    EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(DuringTraining, OneThatLacksAFileIsDamagedAllTheSame) {
    int used = 0;
    fs::remove(step(1) + "/shard-00001.h5");
    try {
        read_during_training(step(1), ReadCheck::sizes, into_notes(), [&](CheckpointReader&) { ++used; });
        ADD_FAILURE() << "read";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
        EXPECT_THAT(error.what(), AllOf(HasSubstr("it is missing")));
    }
    EXPECT_EQ(used, 0);
    EXPECT_THAT(find_newest(root()).notes, ElementsAre(HasSubstr("shard-00001.h5': it is missing")));
}

TEST_F(DuringTraining, ATrainingThatIsAlwaysFasterIsAnError) {
    std::int64_t newest = 1;
    try {
        read_during_training(run(), ReadCheck::sizes, into_notes(), [&](CheckpointReader&) {
            save(++newest);
            storage::throw_io_error("read", "shard", ESTALE);
        });
        ADD_FAILURE() << "read";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr("were removed 10 times"), HasSubstr("checkpoint.keep.last")));
    }
    EXPECT_EQ(newest, 11);
}

TEST_F(DuringTraining, ALowLimitOnOpenFilesIsRaised) {
    rlimit given = {};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &given), 0);
    const rlimit low{300, given.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);

    CheckpointReader reader{step(1)};
    reader.hold();

    rlimit now = {};
    ::getrlimit(RLIMIT_NOFILE, &now);
    EXPECT_GE(now.rlim_cur, std::min<rlim_t>(given.rlim_max, 4 + 512))
        << "files, and as many more as others need";
    ::setrlimit(RLIMIT_NOFILE, &given);
    expect_all(reader);
}

}  // namespace
}  // namespace ziggurat::checkpoint
