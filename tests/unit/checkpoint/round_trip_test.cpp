// Values are read as they were written, for any pieces and any requested boxes.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/error.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "tensor/bfloat16.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/checkpoint/stored_tensors.hpp"

namespace ziggurat::checkpoint {
namespace {

using test::Draw;
using test::Tensor;

/// Boxes of one tensor with memory for their values.
struct Wanted {
    const Tensor* tensor = nullptr;
    Piece piece;
    std::vector<std::byte> values;
};

std::vector<Wanted> want_all(const std::vector<Tensor>& tensors, Draw& draw) {
    std::vector<Wanted> wanted;
    for (const Tensor& tensor : tensors) {
        for (const Box& box : test::draw_boxes(tensor.piece, draw)) {
            wanted.push_back({&tensor, tensor.piece, {}});
            wanted.back().piece.box = box;
            wanted.back().values.resize(static_cast<std::size_t>(wanted.back().piece.bytes()));
        }
    }
    return wanted;
}

std::vector<PieceTarget> targets_of(std::vector<Wanted>& wanted) {
    std::vector<PieceTarget> targets;
    for (Wanted& each : wanted) {
        targets.push_back({each.piece, each.values.data()});
    }
    return targets;
}

std::string defects_of(CheckpointReader& reader) {
    std::string text;
    for (const Defect& damage : reader.verify()) {
        text += damage.file + ": " + damage.what + "\n";
    }
    return text;
}

TEST(RoundTrip, AnyBoxesAreReadFromAnyPiecesBitForBit) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        const test::ScratchFolder folder;
        const std::vector<Tensor> tensors = test::draw_tensors(6, seed % 3 == 0 ? 300 : 40, draw);
        const auto shares = test::share_out(tensors, static_cast<int>(draw.between(1, 4)), draw);
        const std::string path = test::save(folder.file("ckpt"), 5, shares);

        CheckpointReader reader{path};
        std::vector<Wanted> wanted = want_all(tensors, draw);
        std::shuffle(wanted.begin(), wanted.end(), draw.engine());
        reader.read(targets_of(wanted));

        for (const Wanted& each : wanted) {
            EXPECT_EQ(each.values, test::values_of(*each.tensor, each.piece.box)) << each.piece.tensor;
        }
        EXPECT_EQ(defects_of(reader), "");
    }
}

TEST(RoundTrip, PiecesOfManyBlocksAreReadInPart) {
    Draw draw{1};
    const test::ScratchFolder folder;
    const std::vector<Tensor> tensors{
        test::draw_tensor(PieceKind::weights, "wide", {1500, 3001}, spec::DType::f32, draw)};
    const auto shares = test::share_out(tensors, 2, draw);
    const std::string path = test::save(folder.file("ckpt"), 5, shares);
    Wanted row{tensors.data(), tensors[0].piece, {}};
    row.piece.box = {{1200, 7}, {1, 2900}};
    row.values.resize(static_cast<std::size_t>(row.piece.bytes()));
    Wanted column{tensors.data(), tensors[0].piece, {}};
    column.piece.box = {{0, 3000}, {1500, 1}};
    column.values.resize(static_cast<std::size_t>(column.piece.bytes()));

    CheckpointReader one{path};
    one.read(std::vector<PieceTarget>{{row.piece, row.values.data()}});
    CheckpointReader all{path};
    std::mutex mutex;
    std::int64_t on_progress = 0;
    std::int64_t reported_in_all = 0;
    all.set_progress_callback([&](std::int64_t done, std::int64_t in_all) {
        const std::lock_guard lock{mutex};
        on_progress = std::max(on_progress, done);
        reported_in_all = in_all;
    });
    all.read(std::vector<PieceTarget>{{column.piece, column.values.data()}});

    EXPECT_EQ(row.values, test::values_of(tensors[0], row.piece.box));
    EXPECT_EQ(column.values, test::values_of(tensors[0], column.piece.box));
    EXPECT_LE(one.bytes_read(), 2 * hash_block_bytes + (64 << 10)) << "blocks without wanted bytes were read";
    EXPECT_EQ(on_progress, reported_in_all);
    EXPECT_GT(reported_in_all, 2 * hash_block_bytes);
    EXPECT_LE(reported_in_all, all.bytes_read());
    EXPECT_EQ(defects_of(all), "");
}

TEST(RoundTrip, ElementTypesAreConverted) {
    using tensor::bfloat16;
    Draw draw{2};
    const test::ScratchFolder folder;
    const std::vector<Tensor> tensors{
        test::draw_tensor(PieceKind::weights, "narrow", {37}, spec::DType::bf16, draw),
        test::draw_tensor(PieceKind::weights, "wide", {37}, spec::DType::f32, draw)};
    const std::string path = test::save(folder.file("ckpt"), 1, test::share_out(tensors, 1, draw));
    Piece narrow = tensors[1].piece;
    Piece wide = tensors[0].piece;
    narrow.type = spec::DType::bf16;
    wide.type = spec::DType::f32;
    std::vector<float> widened(37);
    std::vector<bfloat16> narrowed(37);

    CheckpointReader{path}.read(
        std::vector<PieceTarget>{{wide, std::as_writable_bytes(std::span{widened}).data()},
                                 {narrow, std::as_writable_bytes(std::span{narrowed}).data()}});

    std::vector<bfloat16> stored_narrow(37);
    std::vector<float> stored_wide(37);
    std::memcpy(stored_narrow.data(), tensors[0].bytes.data(), tensors[0].bytes.size());
    std::memcpy(stored_wide.data(), tensors[1].bytes.data(), tensors[1].bytes.size());
    for (std::size_t k = 0; k < 37; ++k) {
        EXPECT_EQ(widened[k], static_cast<float>(stored_narrow[k]));
        EXPECT_EQ(narrowed[k], bfloat16{stored_wide[k]});
    }
}

TEST(RoundTrip, TheSizeOfAFileIsKnownBefore) {
    Draw draw{3};
    const test::ScratchFolder folder;
    const std::vector<Tensor> tensors = test::draw_tensors(9, 200, draw);
    const auto shares = test::share_out(tensors, 1, draw);

    const std::int64_t predicted = shard_bytes(shares[0].sources());
    const ShardSummary summary = write_shard(folder.path(), 3, shares[0].sources());

    EXPECT_EQ(summary.entry.name, "shard-00003.h5");
    EXPECT_EQ(predicted, summary.bytes_written);
    EXPECT_EQ(predicted,
              static_cast<std::int64_t>(std::filesystem::file_size(folder.file("shard-00003.h5"))));
}

TEST(RoundTrip, TheSamePiecesGiveTheSameFileAtAnyTime) {
    Draw draw{4};
    const test::ScratchFolder folder;
    const auto shares = test::share_out(test::draw_tensors(5, 100, draw), 1, draw);

    const ShardSummary first = write_shard(folder.path(), 0, shares[0].sources());
    const std::time_t now = std::time(nullptr);
    while (std::time(nullptr) == now) {  // the file must not contain the time
        usleep(10'000);
    }
    const ShardSummary second = write_shard(folder.path(), 1, shares[0].sources());

    EXPECT_EQ(first.entry.hash_of_rest, second.entry.hash_of_rest);
    EXPECT_TRUE(test::contents_of(folder.file("shard-00000.h5")) ==
                test::contents_of(folder.file("shard-00001.h5")));
}

TEST(RoundTrip, WhatIsNotThereIsNamed) {
    Draw draw{5};
    const test::ScratchFolder folder;
    const std::vector<Tensor> tensors{
        test::draw_tensor(PieceKind::weights, "w", {4, 6}, spec::DType::f32, draw)};
    const std::string path = test::save(folder.file("ckpt"), 1, test::share_out(tensors, 1, draw));
    CheckpointReader reader{path};
    std::vector<std::byte> values(1000);
    const auto problem_with = [&](const Piece& piece) -> std::string {
        try {
            reader.read(std::vector<PieceTarget>{{piece, values.data()}});
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
            return error.what();
        }
        return "";
    };
    Piece other = tensors[0].piece;
    other.tensor = "x";
    Piece moment = tensors[0].piece;
    moment.kind = PieceKind::first_moment;
    Piece larger = tensors[0].piece;
    larger.shape = {4, 7};

    EXPECT_NE(problem_with(other).find("'x'"), std::string::npos);
    EXPECT_NE(problem_with(moment).find("'first_moment' of 'w'"), std::string::npos);
    EXPECT_NE(problem_with(larger).find("[4, 6] there and [4, 7] here"), std::string::npos);
}

TEST(RoundTrip, AnElementThatIsNotStoredIsNoZero) {
    Draw draw{7};
    const test::ScratchFolder folder;
    const std::vector<Tensor> tensors{
        test::draw_tensor(PieceKind::weights, "w", {4, 6}, spec::DType::f32, draw)};
    test::WriterShare halves;
    for (const std::int64_t row : {0, 2}) {
        halves.pieces.push_back(tensors[0].piece);
        halves.pieces.back().box = {{row, 0}, {2, 6}};
        halves.values.push_back(test::values_of(tensors[0], halves.pieces.back().box));
    }
    const std::string path = test::save(folder.file("ckpt"), 1, {halves});
    Manifest manifest = read_manifest(path);
    manifest.pieces.pop_back();
    std::vector<std::byte> values(tensors[0].bytes.size());

    try {
        CheckpointReader{path, manifest}.read(std::vector<PieceTarget>{{tensors[0].piece, values.data()}});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
        EXPECT_NE(std::string{error.what()}.find("12 of its elements are not stored"), std::string::npos);
    }
}

TEST(RoundTrip, GivingUpLeavesNothing) {
    Draw draw{6};
    const test::ScratchFolder folder;
    const auto shares = test::share_out(test::draw_tensors(3, 20, draw), 1, draw);
    const std::atomic<bool> request_cancel{true};

    EXPECT_THROW(write_shard(folder.path(), 0, shares[0].sources(), &request_cancel), Error);

    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace ziggurat::checkpoint
