#include "train/report/shard_summaries.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "storage/directory.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

checkpoint::ShardSummary summary_of(const std::string& name, std::int64_t first_row) {
    checkpoint::ShardSummary summary;
    summary.entry = {name, 40, 0xfedcba9876543210u};
    summary.seconds = 0.5 + static_cast<double>(first_row);
    checkpoint::StoredPiece stored;
    stored.piece = {checkpoint::PieceKind::second_moment,
                    "layers.0.weight",
                    {4, 3},
                    spec::DType::bf16,
                    {{first_row, 0}, {2, 3}}};
    stored.offset_bytes = 4096;
    stored.table_offset_bytes = 8192;
    stored.hash_of_table = 0xffffffffffffffffu;
    summary.pieces = {stored};
    return summary;
}

TEST(ShardSummaries, ArriveAsTheyWereInRankOrder) {
    const auto first = summary_of("shard-00000.h5", 0);
    const auto third = summary_of("shard-00002.h5", 2);
    checkpoint::Manifest manifest;

    const auto slowest = add_shards({text_of(first), "", text_of(third)}, manifest);

    EXPECT_EQ(slowest, 2.5);
    ASSERT_EQ(manifest.files.size(), 2u) << "a rank without pieces has no file";
    EXPECT_EQ(manifest.files[0], first.entry);
    EXPECT_EQ(manifest.files[1], third.entry);
    ASSERT_EQ(manifest.pieces.size(), 2u);
    auto expected = third.pieces.front();
    expected.file = 1;
    EXPECT_EQ(manifest.pieces[1], expected);
}

TEST(ShardSummaries, OfFilesThatRankZeroDoesNotSeeAreAnError) {
    const test::ScratchFolder folder;
    checkpoint::Manifest manifest;
    add_shards({text_of(summary_of("shard-00000.h5", 0))}, manifest);
    const auto problem = [&] {
        try {
            expect_files_here(folder.path(), manifest, 0);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::resource);
            return std::string{error.what()};
        }
        return std::string{};
    };

    EXPECT_NE(problem().find("run.dir"), std::string::npos);
    std::ofstream{folder.file("shard-00000.h5")} << std::string(39, 'x');
    EXPECT_NE(problem().find("another size"), std::string::npos);
    std::ofstream{folder.file("shard-00000.h5"), std::ios::app} << "x";
    EXPECT_EQ(problem(), "");
}

TEST(ShardSummaries, FilesOfAFolderThatWasRemovedAreNotWaitedFor) {
    const test::ScratchFolder folder;
    checkpoint::Manifest manifest;
    add_shards({text_of(summary_of("shard-00000.h5", 0))}, manifest);
    constexpr double hours = 10 * 3600;
    EXPECT_THROW(expect_files_here(folder.file("ckpt/step-000000008.tmp"), manifest, hours), Error);
    if (storage::is_local(folder.path())) {
        EXPECT_THROW(expect_files_here(folder.path(), manifest, hours), Error)
            << "nor a file of this machine";
    }
}

}  // namespace
}  // namespace ziggurat::train
