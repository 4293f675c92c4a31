#include "storage/transfer_thread.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "storage/aio_queue.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::storage {
namespace {

class TransferThreads : public testing::Test {
  protected:
    TransferThreads() { file.reserve(64 * page_bytes); }
    ~TransferThreads() override {
        set_write_fault(nullptr);
        std::filesystem::remove(path);
    }
    void SetUp() override {
        std::uint8_t value = 1;
        for (auto& byte : memory.bytes()) {
            byte = std::byte{value};
            value = static_cast<std::uint8_t>(value * 5 + 3);
        }
    }

    static void wait_for(const TransferThread& thread, int transfer) {
        for (int i = 0; i < 3'000'000 && !thread.is_done(transfer); ++i) {
            ::usleep(100);
        }
        ASSERT_TRUE(thread.is_done(transfer));
    }

    std::string path = std::filesystem::temp_directory_path() / ("transfers." + std::to_string(::getpid()));
    DirectFile file = DirectFile::create(path);
    AlignedBuffer memory{64 * page_bytes};
    AlignedBuffer arrived{64 * page_bytes};
};

TEST_F(TransferThreads, MoveScatteredRunsThereAndBackAgainAndAgain) {
    TransferThread out{{.depth = 3, .block_bytes = 2 * page_bytes}};
    auto source = DirectFile::open(path);
    TransferThread in{{.depth = 2, .block_bytes = page_bytes}};
    std::mt19937 random{7};
    std::vector<int> pages(64);
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), random);
    std::vector<int> writes, reads;
    for (std::size_t begin = 0; begin < pages.size(); begin += 8) {
        std::vector<FileSegment> to, from;
        for (std::size_t i = begin; i < begin + 8; ++i) {
            const auto position = pages[i] * page_bytes;
            to.push_back({&file, static_cast<std::int64_t>(i) * page_bytes, memory.bytes().data() + position,
                          page_bytes});
            from.push_back({&source, static_cast<std::int64_t>(i) * page_bytes,
                            arrived.bytes().data() + position, page_bytes});
        }
        writes.push_back(out.add(TransferKind::write, to));
        reads.push_back(in.add(TransferKind::read, from));
    }
    EXPECT_EQ(8 * page_bytes, out.bytes(writes.front()));

    for (int round = 0; round < 20; ++round) {
        std::ranges::fill(arrived.bytes(), std::byte{0});
        memory.bytes()[0] = static_cast<std::byte>(round);
        for (const int write : writes) {
            out.start(write);
        }
        for (const int write : writes) {
            wait_for(out, write);
        }
        for (const int read : reads) {
            in.start(read);
        }
        for (const int read : reads) {
            wait_for(in, read);
        }
        ASSERT_TRUE(std::ranges::equal(memory.bytes(), arrived.bytes())) << "round " << round;
    }
}

TEST_F(TransferThreads, CallWhatBelongsToATransferAroundIt) {
    std::vector<std::string> calls;
    std::atomic<int> ends{0};
    {
        TransferThread out{{.depth = 1, .block_bytes = page_bytes, .when_done = [&] { ++ends; }}};
        const int write = out.add(
            TransferKind::write, {{&file, 0, memory.bytes().data(), 3 * page_bytes}}, TransferPriority::high,
            [&] { calls.emplace_back("before"); }, [&] { calls.emplace_back("after"); });
        const int nothing = out.add(TransferKind::write, {});

        out.start(write);
        out.start(nothing);
        wait_for(out, write);
        wait_for(out, nothing);
    }  // joins the thread: its last call may follow the transfer's end

    EXPECT_EQ(calls, (std::vector<std::string>{"before", "after"}));
    EXPECT_EQ(2, ends.load());
}

TEST_F(TransferThreads, LetUrgentOnesPassThoseThatHaveBegun) {
    std::vector<std::string> ended;
    std::atomic<bool> all_are_started{false};
    TransferThread out{{.depth = 1, .block_bytes = page_bytes}};
    const auto add = [&](TransferPriority priority, std::int64_t first_page, std::string name) {
        return out.add(
            TransferKind::write,
            {{&file, first_page * page_bytes, memory.bytes().data() + first_page * page_bytes,
              8 * page_bytes}},
            priority,
            [&, waits = name == "begun"] {
                while (waits && !all_are_started) {
                    ::usleep(100);
                }
            },
            [&ended, name] { ended.push_back(name); });
    };
    const int begun = add(TransferPriority::low, 0, "begun");
    const int later = add(TransferPriority::low, 8, "later");
    const int high = add(TransferPriority::high, 16, "urgent");
    const int urgent_too = add(TransferPriority::high, 24, "urgent too");

    for (const int transfer : {begun, later, high, urgent_too}) {
        out.start(transfer);
    }
    all_are_started = true;
    for (const int transfer : {begun, later, high, urgent_too}) {
        wait_for(out, transfer);
    }

    EXPECT_EQ(ended, (std::vector<std::string>{"urgent", "urgent too", "begun", "later"}));
}

TEST_F(TransferThreads, CountWhatEachFileMovesAndHowLongItIsAskedForAnything) {
    auto source = DirectFile::open(path);
    TransferThread in{{.depth = 4, .block_bytes = page_bytes}};
    file.write(0, memory.bytes().first(8 * page_bytes));
    auto* bytes = arrived.bytes().data();
    const int one = in.add(TransferKind::read, {{&source, 0, bytes, 5 * page_bytes}});
    const int both = in.add(TransferKind::read, {{&file, 0, bytes + 5 * page_bytes, 2 * page_bytes},
                                                 {&source, 0, bytes + 7 * page_bytes, page_bytes}});
    const auto begin_ns = monotonic_ns();

    for (const int transfer : {one, both, one}) {
        in.start(transfer);
        wait_for(in, transfer);
    }

    const auto uses = in.uses();
    ASSERT_EQ(uses.size(), 2u);
    EXPECT_EQ(uses[0].file, &source);
    EXPECT_EQ(uses[0].blocks, 11);
    EXPECT_EQ(uses[0].bytes, 11 * page_bytes);
    EXPECT_EQ(uses[1].file, &file);
    EXPECT_EQ(uses[1].bytes, 2 * page_bytes);
    for (const auto& use : uses) {
        EXPECT_GT(use.busy_ns, 0);
        EXPECT_LE(use.busy_ns, monotonic_ns() - begin_ns);
    }
}

TEST_F(TransferThreads, SayWhichFileFailed) {
    TransferThread out{{}};
    const int write = out.add(TransferKind::write, {{&file, page_bytes, memory.bytes().data(), page_bytes}});
    set_write_fault([](const char*, std::int64_t, std::int64_t) { return EIO; });
    out.start(write);
    try {
        wait_for(out, write);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        EXPECT_NE(std::string{error.what()}.find(path), std::string::npos) << error.what();
        EXPECT_NE(std::string{error.what()}.find("offset 4,096"), std::string::npos) << error.what();
    }
}

TEST_F(TransferThreads, FindAFileThatWasShortened) {
    auto source = DirectFile::open(path);
    TransferThread in{{}};
    const int read =
        in.add(TransferKind::read, {{&source, 62 * page_bytes, arrived.bytes().data(), 2 * page_bytes}});
    file.resize(63 * page_bytes);
    in.start(read);
    EXPECT_THROW(wait_for(in, read), Error);
}

TEST_F(TransferThreads, FinishWhatWasStartedBeforeTheyEnd) {
    {
        TransferThread out{{.depth = 2, .block_bytes = page_bytes}};
        out.start(out.add(TransferKind::write, {{&file, 0, memory.bytes().data(), 64 * page_bytes}}));
    }
    EXPECT_EQ(64 * page_bytes, file.read(0, arrived.bytes()));
    EXPECT_TRUE(std::ranges::equal(memory.bytes(), arrived.bytes()));
}

}  // namespace
}  // namespace ziggurat::storage
