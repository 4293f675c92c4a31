/// Class A of saves with state on any tier.
///
/// Checkpoints saved during training, and trainings resumed from them, have the bits of a training with
/// state on the device. A save reads state on NVMe from memory, not again from the disk.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/shard/shard_file.hpp"
#include "storage/direct_file.hpp"
#include "storage/io_error.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_checkpoints.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::DType;
using spec::Home;
using test::Keep;
using enum spec::AccumulationOrder;

constexpr Home device{};
constexpr Home host{0, 1, 0};
constexpr Home nvme{0, 0, 1};
constexpr Home shares{0.25, 0.35, 0.4};
constexpr std::int64_t steps = 4;

struct Homes {
    const char* name;
    Home parameters, gradients, optimizer;
};

const std::vector<Homes>& all_homes() {
    static const std::vector<Homes> homes{{"everything on the host", host, host, host},
                                          {"optimizer on nvme", device, host, nvme},
                                          {"everything on nvme", nvme, nvme, nvme},
                                          {"everything in shares", shares, shares, shares}};
    return homes;
}

void give(spec::RunSpec& run, const Homes& homes) {
    run.tiers.parameters = homes.parameters;
    run.tiers.gradients = homes.gradients;
    run.tiers.optimizer = homes.optimizer;
}

/// Returns a run with ZeRO 3 on all ranks and chunks that split units and tensors at any position.
spec::RunSpec run_in(const test::SharedFolder& folder, const std::string& family, DType compute) {
    auto run = test::tiny_run(family, test::world().size(), 1, 2);
    run.train.steps = steps;
    run.precision.compute = compute;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = test::world().size();
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.tiers.chunk_elements = 4096;
    run.tiers.nvme_block_bytes = 8192;
    run.tiers.nvme_paths = {folder.file("")};
    run.run.dir = folder.file("run");
    return run;
}

template <class Number>
bool same_bits(const std::vector<Number>& a, const std::vector<Number>& b) {
    using Bits = std::array<std::byte, sizeof(Number)>;
    return std::ranges::equal(
        a, b, [](Number x, Number y) { return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y); });
}

std::string step_folder(const test::SharedFolder& folder, const std::string& run, std::int64_t step) {
    return folder.file(run + "/ckpt/step-00000000" + std::to_string(step));
}

class HomesResume : public ::testing::TestWithParam<DType> {};

TEST_P(HomesResume, GoOnWithTheSameBitsFromAnyHomeToAnyOther) {
    const test::SharedFolder folder{test::world()};
    const auto family = GetParam() == DType::f32 ? "gpt2" : "llama";
    auto run = run_in(folder, family, GetParam());
    const auto expected = test::train_on_host(run, test::world());
    for (std::size_t h = 0; h < all_homes().size(); ++h) {
        const auto& homes = all_homes()[h];
        SCOPED_TRACE(homes.name);
        const auto name = "run" + std::to_string(h);
        run.run.dir = folder.file(name);
        run.run.resume = spec::Resume::never;
        run.checkpoint = {spec::Interval{.steps = 1}, 100, 0, true};
        give(run, homes);
        // A checkpoint does not depend on the order of micro-batches.
        run.train.accumulate = h % 2 == 0 ? by_layer : by_micro_batch;
        const auto saving = test::train_and_save(run, test::world(), Keep::nothing, steps);
        EXPECT_TRUE(same_bits(saving.training.losses, expected.losses));
        EXPECT_EQ(saving.training.weights_hash, expected.weights_hash);
        EXPECT_EQ(saving.saved_step, steps);

        // A step followed by further training, and the last step, which is written from its home.
        for (const std::int64_t step : {std::int64_t{2}, steps}) {
            SCOPED_TRACE("from step " + std::to_string(step));
            auto again = run;
            again.run.resume = spec::Resume::path;
            again.run.resume_path = step_folder(folder, name, step);
            again.run.dir = folder.file(name + "from" + std::to_string(step));
            again.checkpoint = {};
            give(again, all_homes()[(h + 1) % all_homes().size()]);
            again.train.accumulate = h % 2 == 0 ? by_micro_batch : by_layer;
            const auto resumed = test::train_and_save(again, test::world(), Keep::nothing, steps);
            EXPECT_EQ(resumed.steps_before, step);
            EXPECT_TRUE(
                same_bits(resumed.training.losses, {expected.losses.begin() + step, expected.losses.end()}));
            EXPECT_EQ(resumed.training.weights_hash, expected.weights_hash);
            EXPECT_EQ(resumed.training.average_hash, expected.average_hash);
            EXPECT_TRUE(same_bits(resumed.training.evaluated, expected.evaluated));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         HomesResume,
                         ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& made) {
                             return std::string{made.param == DType::f32 ? "F32" : "Bf16"};
                         });

TEST(HomesInit, BeginsWithTheWeightsOfAnotherRun) {
    const test::SharedFolder folder{test::world()};
    auto run = run_in(folder, "llama", DType::bf16);
    give(run, {"", host, host, nvme});
    run.checkpoint = {spec::Interval{.steps = 100}, 100, 0, true};
    const auto first = test::train_and_save(run, test::world(), Keep::nothing, steps);

    run.model.init_path = run.run.dir;
    run.run.dir = folder.file("tuned");
    run.train.steps = 0;
    run.checkpoint = {};
    give(run, {"", nvme, nvme, shares});
    const auto tuned = test::train_and_save(run, test::world(), Keep::nothing, 0);

    EXPECT_EQ(tuned.steps_before, 0);
    EXPECT_EQ(tuned.training.weights_hash, first.training.weights_hash);
}

std::atomic<std::int64_t> read_bytes{0}, written_bytes{0}, shard_bytes{0};

int count_reads(const char*, std::int64_t, std::int64_t bytes) {
    read_bytes += bytes;
    return 0;
}

int count_writes(const char* path, std::int64_t, std::int64_t bytes) {
    if (std::strstr(path, "/ckpt") == nullptr) {
        written_bytes += bytes;
    } else if (std::strstr(path, "step-000000003.tmp/shard-") != nullptr) {
        shard_bytes += bytes;
    }
    return 0;
}

TEST(HomesSave, ReadsNothingTwiceAndWritesTheStateOnce) {
    const test::SharedFolder folder{test::world()};
    auto run = run_in(folder, "llama", DType::bf16);
    run.train.steps = 6;
    give(run, {"", host, nvme, nvme});
    storage::set_read_fault(count_reads);
    checkpoint::set_write_fault(count_writes);
    const auto counts_with_saves_every = [&](std::int64_t every) {
        run.run.dir = folder.file("every" + std::to_string(every));
        run.checkpoint = {spec::Interval{.steps = every}, 100, 0, true};
        read_bytes = written_bytes = shard_bytes = 0;
        test::train_and_save(run, test::world(), Keep::nothing, 5);
        return std::array<std::int64_t, 3>{read_bytes, written_bytes, shard_bytes};
    };
    // Both end with a save of step 5 from home. One of them also saves step 3.
    const auto plain = counts_with_saves_every(100);
    const auto saving = counts_with_saves_every(3);
    storage::set_read_fault(nullptr);
    checkpoint::set_write_fault(nullptr);

    EXPECT_GT(plain[0], 0);
    EXPECT_EQ(saving[0], plain[0]);
    EXPECT_EQ(saving[1], plain[1]);
    EXPECT_EQ(plain[2], 0);
    const auto rank = test::world().rank();
    const auto size = static_cast<std::int64_t>(
        std::filesystem::file_size(step_folder(folder, "every3", 3) + "/" + checkpoint::shard_name(rank)));
    // Reserved, then written. Without direct I/O, the fault handler counts a write at two levels.
    const auto written = saving[2] - size;
    const auto once = round_up_to_page(size);
    EXPECT_TRUE(written == once || written == 2 * once) << written << " of " << once;
}

int no_space_for_step_two(const char* path, std::int64_t, std::int64_t bytes) {
    const bool is_part = std::strstr(path, "shard-") != nullptr && bytes > 0;
    return is_part && std::strstr(path, "step-000000002") != nullptr ? ENOSPC : 0;
}

TEST(HomesSave, ThatFailsWhileStatePassesLetsTrainingGoOn) {
    const test::SharedFolder folder{test::world()};
    auto run = run_in(folder, "llama", DType::bf16);
    const auto expected = test::train_on_host(run, test::world());
    give(run, {"", host, host, nvme});
    run.checkpoint = {spec::Interval{.steps = 1}, 100, 0, true};
    checkpoint::set_write_fault(test::world().rank() == 0 ? no_space_for_step_two : nullptr);
    const auto outcome = test::train_and_save(run, test::world(), Keep::nothing, steps);
    checkpoint::set_write_fault(nullptr);

    EXPECT_TRUE(same_bits(outcome.training.losses, expected.losses));
    EXPECT_EQ(outcome.training.weights_hash, expected.weights_hash);
    EXPECT_EQ(outcome.saved_step, steps);
}

}  // namespace
}  // namespace ziggurat::train
