#include "storage/aio_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "storage/io_error.hpp"
#include "tests/support/random/draw.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::storage {
namespace {

constexpr std::int64_t block = std::int64_t{1} << 16;

std::byte value_at(std::int64_t offset) {
    return static_cast<std::byte>((offset * 31 + offset / 4096) & 0xff);
}

void fill(std::span<std::byte> bytes, std::int64_t offset) {
    for (std::size_t k = 0; k < bytes.size(); ++k) {
        bytes[k] = value_at(offset + static_cast<std::int64_t>(k));
    }
}

/// Writes `blocks` blocks in random order, with a full queue.
void write_file(const std::string& path, std::int64_t blocks, int depth) {
    test::Draw draw{1};
    std::vector<std::int64_t> order(static_cast<std::size_t>(blocks));
    for (std::size_t k = 0; k < order.size(); ++k) {
        order[k] = static_cast<std::int64_t>(k);
    }
    std::shuffle(order.begin(), order.end(), draw.engine());
    const AlignedBuffer memory{block * depth};
    std::vector<std::uint64_t> free;
    for (int k = 0; k < depth; ++k) {
        free.push_back(static_cast<std::uint64_t>(k));
    }
    DirectFile file = DirectFile::create(path);
    file.reserve(blocks * block);
    AioQueue queue{depth};
    for (const std::int64_t number : order) {
        if (queue.is_full()) {
            free.push_back(queue.wait());
        }
        const std::uint64_t index = free.back();
        free.pop_back();
        const auto bytes = memory.bytes().subspan(index * static_cast<std::size_t>(block), block);
        fill(bytes, number * block);
        queue.write(file, number * block, bytes, index);
    }
    while (!queue.is_idle()) {
        queue.wait();
    }
    file.flush();
}

TEST(AioQueue, WritesAndReadsEveryByteInAnyOrder) {
    const test::ScratchFolder folder;
    for (const auto& [blocks, depth] : {std::pair{3, 8}, {50, 1}, {80, 8}}) {
        write_file(folder.file("data"), blocks, depth);
        const std::string contents = test::contents_of(folder.file("data"));
        ASSERT_EQ(std::ssize(contents), blocks * block);

        DirectFile file = DirectFile::open(folder.file("data"));
        const AlignedBuffer memory{block * blocks};
        AioQueue queue{depth};
        std::set<std::uint64_t> tags;
        for (std::int64_t k = 0; k < blocks; ++k) {
            if (queue.is_full()) {
                tags.insert(queue.wait());
            }
            queue.read(file, k * block, memory.bytes().subspan(static_cast<std::size_t>(k * block), block),
                       block, static_cast<std::uint64_t>(k));
        }
        while (!queue.is_idle()) {
            tags.insert(queue.wait());
        }

        EXPECT_EQ(std::ssize(tags), blocks) << "each tag comes back once";
        EXPECT_EQ(std::memcmp(memory.bytes().data(), contents.data(), contents.size()), 0);
        std::vector<std::byte> expected(contents.size());
        fill(expected, 0);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.bytes().begin()));
    }
}

TEST(AioQueue, TheEndOfAFileMayCutAReadWhereItIsExpected) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("data")} << std::string(5000, 'x');
    DirectFile file = DirectFile::open(folder.file("data"));
    const AlignedBuffer memory{8192};
    for (int round = 0; round < 20; ++round) {  // immediately, and later asynchronously
        AioQueue queue{2};
        for (int k = 0; k < round; ++k) {
            queue.read(file, 0, memory.bytes().first(4096), 4096, 0);
            queue.wait();
        }
        queue.read(file, 0, memory.bytes(), 5000, 7);
        EXPECT_EQ(queue.wait(), 7u);
        EXPECT_EQ(memory.bytes()[4999], std::byte{'x'});
    }
}

TEST(AioQueue, AFileThatEndsTooEarlyIsNamedWithItsPlace) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("data")} << std::string(5000, 'x');
    DirectFile file = DirectFile::open(folder.file("data"));
    const AlignedBuffer memory{2 << 20};
    for (const std::size_t bytes : {std::size_t{8192}, std::size_t{2} << 20}) {
        AioQueue queue{2};
        try {
            queue.read(file, 4096, memory.bytes().first(bytes), 4096, 0);
            queue.wait();
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::resource);
            const std::string what = error.what();
            EXPECT_NE(what.find("read 4,096 bytes at offset 4,096 of '" + file.path() + "'"),
                      std::string::npos)
                << what;
            EXPECT_NE(what.find("ends after 904"), std::string::npos) << what;
        }
    }
}

TEST(AioQueue, AFaultOfTheDiskIsAnErrorWithPathAndOffset) {
    const test::ScratchFolder folder;
    DirectFile file = DirectFile::create(folder.file("data"));
    const AlignedBuffer memory{8192};
    AioQueue queue{2};
    set_write_fault(
        [](const char*, std::int64_t offset, std::int64_t) { return offset == 4096 ? ENOSPC : 0; });
    EXPECT_NO_THROW(queue.write(file, 0, memory.bytes().first(4096), 0));
    try {
        queue.write(file, 4096, memory.bytes().first(4096), 0);
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(),
                     ("cannot write 4,096 bytes at offset 4,096 of '" + folder.file("data") +
                      "' (No space left on device). Free some space there, or use a file system "
                      "with more space.")
                         .c_str());
    }
    set_write_fault(nullptr);
    queue.drain();
    EXPECT_TRUE(queue.is_idle());
}

TEST(AioQueue, HasFewerTransfersInFlightWhereTheSystemGrantsNoMore) {
    int granted_by_system = 0;
    std::ifstream{"/proc/sys/fs/aio-max-nr"} >> granted_by_system;
    if (granted_by_system == 0 || granted_by_system > 1 << 18) {
        GTEST_SKIP() << "a queue of so many takes much memory";
    }
    const test::ScratchFolder folder;
    DirectFile file = DirectFile::create(folder.file("data"));
    const AlignedBuffer memory{8192};
    AioQueue queue{granted_by_system + 1, AioQueue::QueueUse::many};
    EXPECT_TRUE(queue.not_asynchronous_reason().empty()) << queue.not_asynchronous_reason();
    EXPECT_GE(queue.depth(), 1);
    EXPECT_LE(queue.depth(), (granted_by_system + 1) / 2);
    for (int started = 0; started < queue.depth(); ++started) {
        ASSERT_FALSE(queue.is_full());
        queue.write(file, 0, memory.bytes().first(4096), 0);
    }
    EXPECT_TRUE(queue.is_full());
    queue.drain();
}

TEST(AioQueue, ReadingWhatIsNoFileIsAnError) {
    const test::ScratchFolder folder;
    DirectFile file = DirectFile::create(folder.file("data"));
    DirectFile closed = std::move(file);
    EXPECT_THROW(DirectFile::open(folder.file("none")), Error);
    const AlignedBuffer memory{4096};
    AioQueue queue{1};
    EXPECT_THROW(
        {
            queue.read(file, 0, memory.bytes(), 4096, 0);  // its descriptor was moved
            queue.wait();
        },
        Error);
}

}  // namespace
}  // namespace ziggurat::storage
