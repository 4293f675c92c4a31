#include "storage/striped_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::storage {
namespace {

class StripedFiles : public testing::TestWithParam<int> {
  protected:
    StripedFiles() {
        for (int i = 0; i < GetParam(); ++i) {
            folders.push_back(std::filesystem::temp_directory_path() /
                              ("stripes." + std::to_string(::getpid()) + "." + std::to_string(i)));
            std::filesystem::create_directory(folders.back());
        }
    }
    ~StripedFiles() override {
        set_write_fault(nullptr);
        for (const auto& folder : folders) {
            std::filesystem::remove_all(folder);
        }
    }

    std::vector<std::string> folders;
};

/// Writes random ranges of `file`, and reads it whole and in parts.
void expect_to_hold_what_is_written(StripedFile& file, std::uint64_t seed) {
    const auto size = static_cast<std::size_t>(file.bytes());
    std::vector<std::byte> truth(size);
    std::mt19937_64 random{seed};
    for (int round = 0; round < 200; ++round) {
        const auto begin = static_cast<std::size_t>(random() % size);
        const auto length = static_cast<std::size_t>(random() % 30'000) % (size - begin) + 1;
        std::vector<std::byte> bytes(length);
        std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
        std::ranges::copy(bytes, truth.begin() + static_cast<std::ptrdiff_t>(begin));
        file.write(static_cast<std::int64_t>(begin), bytes);
    }
    std::vector<std::byte> read(size);
    file.read(0, read);
    EXPECT_EQ(read, truth);
    read.resize(10'001);
    file.read(7'777, read);
    EXPECT_TRUE(std::equal(read.begin(), read.end(), truth.begin() + 7'777));
}

TEST_P(StripedFiles, HoldWhatWasWrittenToAnyBytes) {
    StripedFile file{folders, 40 * page_bytes - 5, {.stripe_bytes = 3 * page_bytes}};
    ASSERT_EQ(file.bytes(), 40 * page_bytes);
    expect_to_hold_what_is_written(file, 11);
}

TEST_P(StripedFiles, HoldWhatWasWrittenWhenTheyCheckIt) {
    StripedFile file{folders,
                     40 * page_bytes,
                     {.stripe_bytes = 3 * page_bytes, .checked_between = {{page_bytes, 8 * page_bytes}}}};
    expect_to_hold_what_is_written(file, 12);
}

TEST_P(StripedFiles, RefuseBytesThatOthersHaveChanged) {
    StripedFile file{folders, 40 * page_bytes, {.stripe_bytes = 2 * page_bytes, .checked_between = {{}}}};
    AlignedBuffer memory{40 * page_bytes};
    std::ranges::fill(memory.bytes(), std::byte{5});
    file.write(0, memory.bytes());
    const auto segment =
        file.segments(TransferKind::write, 6 * page_bytes, memory.bytes().data(), page_bytes * 2);
    std::ranges::fill(memory.bytes(), std::byte{6});
    segment.front().file->write(segment.front().offset_bytes, memory.bytes().first(page_bytes));

    file.read(0, memory.bytes().first(6 * page_bytes));
    EXPECT_THROW(file.read(7 * page_bytes + 5, memory.bytes().first(1)), Error);
}

TEST_P(StripedFiles, RefuseAFileThatSomebodyHasCutThoughTheyCheckNothing) {
    StripedFile file{folders, 40 * page_bytes, {.stripe_bytes = 2 * page_bytes}};
    std::vector<std::byte> bytes(static_cast<std::size_t>(2 * page_bytes), std::byte{5});
    file.write(0, bytes);
    AlignedBuffer memory{2 * page_bytes};
    file.segments(TransferKind::write, 0, memory.bytes().data(), 2 * page_bytes).front().file->resize(0);

    EXPECT_THROW(file.read(0, bytes), Error);
}

TEST_P(StripedFiles, CheckWhatAThreadMoves) {
    StripedFile file{
        folders, 16 * page_bytes, {.stripe_bytes = 2 * page_bytes, .checked_between = {{3 * page_bytes}}}};
    AlignedBuffer memory{16 * page_bytes};
    AlignedBuffer arrived{16 * page_bytes};
    std::mt19937_64 random{4};
    std::ranges::generate(memory.bytes(), [&] { return static_cast<std::byte>(random()); });
    const auto wait_for = [](const TransferThread& thread, int transfer) {
        while (!thread.is_done(transfer)) {
            ::usleep(100);
        }
    };
    TransferThread out{{.depth = 2, .block_bytes = 2 * page_bytes}};
    const int write = out.add(TransferKind::write,
                              file.segments(TransferKind::write, 0, memory.bytes().data(), 16 * page_bytes));
    TransferThread in{{.depth = 2, .block_bytes = 2 * page_bytes}};
    const int read = in.add(TransferKind::read,
                            file.segments(TransferKind::read, 0, arrived.bytes().data(), 16 * page_bytes));
    out.start(write);
    wait_for(out, write);
    in.start(read);
    wait_for(in, read);
    EXPECT_TRUE(std::ranges::equal(memory.bytes(), arrived.bytes()));

    const auto position = file.segments(TransferKind::write, 0, nullptr, 2 * page_bytes).front();
    std::ranges::fill(arrived.bytes(), std::byte{1});
    position.file->write(position.offset_bytes, arrived.bytes().first(page_bytes));

    in.start(read);
    EXPECT_THROW(wait_for(in, read), Error);
}

TEST_P(StripedFiles, SayWhereTheirPagesLie) {
    StripedFile file{folders, 40 * page_bytes, {.stripe_bytes = 2 * page_bytes}};
    AlignedBuffer memory{40 * page_bytes};
    std::mt19937_64 random{3};
    std::ranges::generate(memory.bytes(), [&] { return static_cast<std::byte>(random()); });
    file.write(0, memory.bytes());
    AlignedBuffer arrived{11 * page_bytes};

    std::int64_t bytes = 0;
    for (const auto& segment :
         file.segments(TransferKind::read, 3 * page_bytes, arrived.bytes().data(), 11 * page_bytes)) {
        bytes += segment.bytes;
        segment.file->read(segment.offset_bytes, {segment.memory, static_cast<std::size_t>(segment.bytes)});
    }

    EXPECT_EQ(bytes, 11 * page_bytes);
    EXPECT_TRUE(std::ranges::equal(arrived.bytes(), memory.bytes().subspan(3 * page_bytes, 11 * page_bytes)));
}

TEST_P(StripedFiles, LeaveNothingInTheirFolders) {
    const StripedFile file{folders, 40 * page_bytes, {.stripe_bytes = page_bytes}};
    for (const auto& folder : folders) {
        EXPECT_TRUE(std::filesystem::is_empty(folder));
    }
}

TEST_P(StripedFiles, NameTheFolderThatIsFull) {
    set_write_fault([](const char*, std::int64_t, std::int64_t bytes) { return bytes > 0 ? ENOSPC : 0; });
    try {
        const StripedFile file{folders, page_bytes, {.stripe_bytes = page_bytes}};
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        EXPECT_NE(std::string{error.what()}.find(folders.front()), std::string::npos) << error.what();
    }
}

TEST_P(StripedFiles, MayHoldLessThanAStripe) {
    StripedFile file{folders, 5 * page_bytes, {.stripe_bytes = 64 * page_bytes}};
    expect_to_hold_what_is_written(file, 7);
}

INSTANTIATE_TEST_SUITE_P(OverFolders, StripedFiles, testing::Values(1, 3));

}  // namespace
}  // namespace ziggurat::storage
