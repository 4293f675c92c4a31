#include "storage/hdf5_image.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/error.hpp"
#include "storage/hdf5_structure.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::storage {
namespace {

void write_to(const std::string& path, const SparseImage& image) {
    std::vector<char> bytes(static_cast<std::size_t>(image.size_bytes()));
    image.read(0, std::as_writable_bytes(std::span{bytes}));
    std::ofstream{path, std::ios::binary}.write(bytes.data(), std::ssize(bytes));
}

constexpr std::int64_t aligned_from = 65536;

TEST(Hdf5Image, DatasetsLieWhereItSays) {
    const test::ScratchFolder folder;
    Hdf5Image file{aligned_from, 4};
    const std::vector<std::int64_t> small{3, 5};
    const std::vector<std::int64_t> large{100, 200};
    const std::int64_t a = file.reserve("/group/with/a", Hdf5Type::f32, small);
    const std::int64_t b = file.reserve("/group/b", Hdf5Type::bf16, small);
    const std::int64_t c = file.reserve("/group/c", Hdf5Type::f32, large);
    const std::int64_t scalar = file.reserve("/scalar", Hdf5Type::u64, {});
    file.set_attribute("/group/b", "begin", large);
    file.set_attribute("/", "count", std::int64_t{3});
    file.write_text("/note", "text");
    const SparseImage image = file.finish();
    write_to(folder.file("file.h5"), image);

    const auto found = hdf5_structure(folder.file("file.h5"));

    ASSERT_EQ(found.size(), 5u);
    EXPECT_EQ(found.at("/group/with/a"), (Hdf5DatasetInfo{Hdf5Type::f32, true, false, small, a, 0, {}}));
    EXPECT_EQ(found.at("/group/b"),
              (Hdf5DatasetInfo{Hdf5Type::bf16, true, false, small, b, 0, {{"begin", large}}}));
    EXPECT_EQ(found.at("/group/c"), (Hdf5DatasetInfo{Hdf5Type::f32, true, false, large, c, 0, {}}));
    EXPECT_EQ(found.at("/scalar"), (Hdf5DatasetInfo{Hdf5Type::u64, true, false, {}, scalar, 0, {}}));
    EXPECT_FALSE(found.at("/note").is_of_known_type);
    EXPECT_EQ(c % page_bytes, 0) << "large ones start at a page";
    EXPECT_LT(image.size_bytes(), 100 * 200 * 4 + 20'000);
}

TEST(Hdf5Image, VirtualDatasetsCountTheirParts) {
    const test::ScratchFolder folder;
    Hdf5Image file{aligned_from, 4};
    const std::vector<std::int64_t> shape{4, 6};
    const std::vector<Hdf5Part> parts{{"x.h5", "/w/0", {0, 0}, {4, 2}}, {"y.h5", "/w/0", {0, 2}, {4, 4}}};
    file.map("/w", Hdf5Type::f32, shape, parts);
    write_to(folder.file("master.h5"), file.finish());

    EXPECT_EQ(hdf5_structure(folder.file("master.h5")).at("/w"),
              (Hdf5DatasetInfo{Hdf5Type::f32, true, true, shape, -1, 2, {}}));
}

TEST(Hdf5Image, LargeDatasetsTakeNoMemory) {
    Hdf5Image file{aligned_from, 4};
    const std::int64_t elements = std::int64_t{1} << 40;
    file.reserve("/a", Hdf5Type::f32, {&elements, 1});
    file.reserve("/b", Hdf5Type::f32, {&elements, 1});
    EXPECT_GT(file.finish().size_bytes(), 8 * elements);
}

TEST(Hdf5Image, TheSameNameTwiceIsAnErrorAndPrintsNothing) {
    Hdf5Image file{aligned_from, 4};
    file.reserve("/a", Hdf5Type::f32, {});
    testing::internal::CaptureStderr();
    try {
        file.reserve("/a", Hdf5Type::f32, {});
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_NE(std::string{error.what()}.find("'/a'"), std::string::npos) << error.what();
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Hdf5Image, ThreadsTakeTurns) {
    std::vector<std::int64_t> sizes(4);
    {
        std::vector<std::jthread> threads;
        for (std::int64_t& size : sizes) {
            threads.emplace_back([&size] {
                for (int round = 0; round < 20; ++round) {
                    Hdf5Image file{aligned_from, 4};
                    for (int k = 0; k < 10; ++k) {
                        file.reserve("/group/" + std::to_string(k), Hdf5Type::f32,
                                     std::vector<std::int64_t>{7});
                    }
                    size = file.finish().size_bytes();
                }
            });
        }
    }
    EXPECT_EQ(sizes, std::vector<std::int64_t>(4, sizes[0]));
}

TEST(Hdf5Image, WhatIsNoFileOfHdf5IsRefused) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("file.h5")} << "no file of HDF5";
    EXPECT_THROW(hdf5_structure(folder.file("file.h5")), Error);
    EXPECT_THROW(hdf5_structure(folder.file("none.h5")), Error);
}

}  // namespace
}  // namespace ziggurat::storage
