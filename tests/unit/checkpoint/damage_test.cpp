// Any damage to any file of a checkpoint is detected and named; it never causes wrong values or a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/verify.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/checkpoint/stored_tensors.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::Draw;

/// Two steps of one training in a run's folder.
struct TwoSteps {
    test::ScratchFolder scratch;
    std::string root = scratch.file("ckpt");
    std::vector<test::Tensor> tensors;  // of step 2
    std::string path;                   // of step 2
    std::string other;                  // of step 1
    std::string other_latest;           // LATEST while step 1 was the newest

    explicit TwoSteps(Draw& draw) {
        std::vector<test::Tensor> before = test::draw_tensors(3, 40, draw);
        // Larger than the alignment to pages, so that the file has padding.
        before.push_back(test::draw_tensor(PieceKind::weights, "large", {150, 120}, spec::DType::f32, draw));
        tensors = before;
        for (test::Tensor& tensor : tensors) {
            tensor.bytes = test::draw_values(tensor.piece, draw);
        }
        Draw same_cuts_for_both{99};
        other = test::save(root, 1, test::share_out(before, 3, same_cuts_for_both));
        other_latest = test::contents_of(root + "/LATEST");
        same_cuts_for_both = Draw{99};
        path = test::save(root, 2, test::share_out(tensors, 3, same_cuts_for_both));
    }

    std::vector<std::string> files() const {
        std::vector<std::string> names{"../LATEST"};
        for (const fs::directory_entry& entry : fs::directory_iterator{path}) {
            names.push_back(entry.path().filename().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }
};

void overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
}

/// Damages a file with the bytes `good`, and describes the damage. `other` is the same file of another
/// step.
std::string damage(const std::string& file, const std::string& good, const std::string& other, Draw& draw) {
    const std::int64_t choice = draw.between(0, 19);
    if (choice == 0) {
        fs::remove(file);
        return "removed";
    }
    if (choice == 1) {
        const std::int64_t bytes = draw.between(0, std::ssize(good) - 1);
        overwrite(file, good.substr(0, static_cast<std::size_t>(bytes)));
        return "cut to " + std::to_string(bytes);
    }
    if (choice == 2) {
        overwrite(file, other);
        return "another step's";
    }
    if (choice == 3) {
        overwrite(file, good + std::string(static_cast<std::size_t>(draw.between(1, 5000)), '\0'));
        return "longer";
    }
    std::string bad = good;
    const std::int64_t byte = draw.between(0, std::ssize(good) - 1);
    const std::int64_t bit = draw.between(0, 7);
    bad[static_cast<std::size_t>(byte)] = static_cast<char>(bad[static_cast<std::size_t>(byte)] ^ (1 << bit));
    overwrite(file, bad);
    return "bit " + std::to_string(bit) + " of byte " + std::to_string(byte);
}

/// Returns true if everything can be read. Then checks that every value is as written.
bool reads_right(const TwoSteps& run) {
    std::vector<std::vector<std::byte>> values;
    std::vector<PieceTarget> targets;
    for (const test::Tensor& tensor : run.tensors) {
        values.emplace_back(tensor.bytes.size());
        targets.push_back({tensor.piece, values.back().data()});
    }
    try {
        CheckpointReader{run.path}.read(targets);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint) << error.what();
        return false;
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
        EXPECT_EQ(values[k], run.tensors[k].bytes) << run.tensors[k].piece.tensor << " has wrong values";
    }
    return true;
}

std::set<std::string> damaged_files(const std::string& path) {
    std::set<std::string> names;
    for (const Defect& damage : verify_checkpoint(path).defects) {
        names.insert(damage.file);
    }
    return names;
}

TEST(Defect, IsFoundAndNamedWhereverItIs) {
    test::keep_scratch_in_memory();
    Draw draw{1};
    TwoSteps run{draw};
    ASSERT_TRUE(damaged_files(run.path).empty());
    ASSERT_TRUE(reads_right(run));
    const std::vector<std::string> files = run.files();
    int read_all_the_same = 0;
    for (int round = 0; round < 1000; ++round) {
        const std::string name = draw.one_of(files);
        const std::string file = run.path + "/" + name;
        const std::string good = test::contents_of(file);
        const bool is_latest = name == "../LATEST";
        const std::string other = is_latest ? run.other_latest : test::contents_of(run.other + "/" + name);

        const std::string what = name + ": " + damage(file, good, other, draw);

        const std::set<std::string> found = damaged_files(run.path);
        // An interrupted save leaves no LATEST, or that of an earlier step.
        const bool is_note = is_latest && (!fs::exists(file) || test::contents_of(file) == other);
        EXPECT_EQ(is_note, !verify_checkpoint(run.path).note.empty()) << what;
        EXPECT_TRUE(is_note ? found.empty() : found.contains(is_latest ? "LATEST" : name)) << what;
        const bool is_other_step = what.ends_with("step's") && name == "COMPLETE";
        EXPECT_TRUE(found.size() == 1 || is_note || is_other_step || name == "COMPLETE")
            << what << ": others are named";
        read_all_the_same += reads_right(run) ? 1 : 0;
        overwrite(file, good);
    }
    EXPECT_TRUE(damaged_files(run.path).empty());
    EXPECT_GT(read_all_the_same, 100) << "padding, HDF5's own bytes and master.h5 do no harm to reading";
    EXPECT_LT(read_all_the_same, 900);
}

TEST(Defect, EveryByteOfASmallFileCounts) {
    test::keep_scratch_in_memory();
    Draw draw{2};
    const test::ScratchFolder scratch;
    const std::vector<test::Tensor> tensors{
        test::draw_tensor(PieceKind::weights, "w", {3}, spec::DType::f32, draw)};
    const std::string path = test::save(scratch.file("ckpt"), 1, test::share_out(tensors, 1, draw));
    for (const std::string name : {"shard-00000.h5", "master.h5"}) {
        const std::string good = test::contents_of(path + "/" + name);
        for (std::size_t byte = 0; byte < good.size(); byte += 3) {
            std::string bad = good;
            bad[byte] = static_cast<char>(bad[byte] ^ 0x10);
            overwrite(path + "/" + name, bad);
            EXPECT_EQ(damaged_files(path), std::set<std::string>{name}) << byte;
        }
        overwrite(path + "/" + name, good);
    }
}

TEST(Defect, NamesTheTensorTheBlockAndThePlace) {
    Draw draw{3};
    const test::ScratchFolder scratch;
    const std::vector<test::Tensor> tensors{
        test::draw_tensor(PieceKind::first_moment, "wide", {3, 1 << 20}, spec::DType::f32, draw)};
    const auto shares = std::vector<test::WriterShare>{{{tensors[0].piece}, {tensors[0].bytes}}};
    const std::string path = test::save(scratch.file("ckpt"), 1, shares);
    CheckpointReader reader{path};
    const std::int64_t at = reader.manifest().pieces[0].offset_bytes + 2 * hash_block_bytes + 77;
    {
        std::fstream file{path + "/shard-00000.h5", std::ios::binary | std::ios::in | std::ios::out};
        file.seekp(at);
        file.put(static_cast<char>(
            ~static_cast<int>(tensors[0].bytes[static_cast<std::size_t>(2 * hash_block_bytes + 77)])));
    }

    const std::vector<Defect> found = reader.verify();

    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].file, "shard-00000.h5");
    EXPECT_NE(found[0].what.find("block 2 of a piece of 'first_moment' of 'wide'"), std::string::npos)
        << found[0].what;
    std::vector<std::byte> values(tensors[0].bytes.size());
    Piece good_part = tensors[0].piece;
    good_part.box.extent[0] = 2;
    EXPECT_NO_THROW(reader.read(std::vector<PieceTarget>{{good_part, values.data()}}));
    EXPECT_THROW(reader.read(std::vector<PieceTarget>{{tensors[0].piece, values.data()}}), Error);
}

TEST(Defect, AFileThatDoesNotBelongIsNamed) {
    Draw draw{4};
    const test::ScratchFolder scratch;
    const std::vector<test::Tensor> tensors{
        test::draw_tensor(PieceKind::weights, "w", {3}, spec::DType::f32, draw)};
    const std::string path = test::save(scratch.file("ckpt"), 1, test::share_out(tensors, 1, draw));
    fs::create_directories(path + "/shard-00009.h5");
    EXPECT_EQ(damaged_files(path + "/"), std::set<std::string>{"shard-00009.h5"});
}

TEST(Defect, NoLatestIsNoDefect) {
    Draw draw{5};
    const test::ScratchFolder scratch;
    const std::vector<test::Tensor> tensors{
        test::draw_tensor(PieceKind::weights, "w", {3}, spec::DType::f32, draw)};
    const std::string path = test::save(scratch.file("ckpt"), 1, test::share_out(tensors, 1, draw));
    fs::copy(path, scratch.file("kept"));
    EXPECT_TRUE(damaged_files(scratch.file("kept")).empty());
    fs::remove(scratch.file("ckpt/LATEST"));
    EXPECT_TRUE(damaged_files(path).empty());
    EXPECT_NE(verify_checkpoint(path).note.find("it is missing; training resumes from step-000000001"),
              std::string::npos);
}

}  // namespace
}  // namespace ziggurat::checkpoint
