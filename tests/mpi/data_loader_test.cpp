#include "train/data_loader.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "data/corpus.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

/// Memory of one slot for the sequences of a micro-batch.
struct SlotMemory {
    std::vector<std::int32_t> ints;
    std::vector<std::uint8_t> mask;
    std::vector<std::int64_t> samples;
    std::vector<float> losses;

    explicit SlotMemory(const spec::RunSpec& run)
        : ints(static_cast<std::size_t>(4 * run.train.micro_batch * run.data.seq)),
          mask(ints.size() / 4),
          samples(static_cast<std::size_t>(run.train.micro_batch)),
          losses(mask.size()) {}

    BatchSlot slot() {
        const std::span<std::int32_t> all{ints};
        const auto size = mask.size();
        return {all.first(size),
                all.subspan(size, size),
                all.subspan(2 * size, size),
                all.subspan(3 * size),
                mask,
                samples,
                losses};
    }
};

spec::RunSpec run_with(std::int64_t global_batch) {
    spec::RunSpec run;
    run.data.seq = 4;
    run.data.shuffle = false;
    run.train.micro_batch = 2;
    run.train.global_batch = global_batch;
    run.train.micro_batches = global_batch / 2;
    return run;
}

/// All positions of all sequences.
const BatchPart whole{0, 0, layout::context_rows({}, 0, 4)};

/// Returns the global indices of the samples of one step on one rank with the whole batch.
std::vector<std::int64_t> samples_of_step(DataLoader& feeder, const spec::RunSpec& run, std::int64_t step) {
    std::vector<SlotMemory> memory(static_cast<std::size_t>(run.train.micro_batches), SlotMemory{run});
    std::vector<BatchSlot> slots;
    for (auto& of_slot : memory) {
        slots.push_back(of_slot.slot());
    }
    feeder.fill(step, slots, test::world());
    std::vector<std::int64_t> samples;
    for (const auto& of_slot : memory) {
        samples.insert(samples.end(), of_slot.samples.begin(), of_slot.samples.end());
    }
    return samples;
}

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> made;
    for (; first < last; ++first) {
        made.push_back(first);
    }
    return made;
}

TEST(DataLoader, GoesOnAfterTheLastSampleWhateverTheBatchWas) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("text")} << std::string(1000, 'x');
    auto run = run_with(12);
    run.data.train.push_back({spec::TokenFormat::text, folder.file("text")});
    const data::Corpus corpus{run.data, 256, 1};
    DataLoader before{run, corpus.training(), whole, true};
    EXPECT_EQ(samples_of_step(before, run, 4), numbers(48, 60));
    const checkpoint::TrainingProgress progress{.step = 5, .next_sample = before.first_sample(5)};
    EXPECT_EQ(progress.next_sample, 60);

    auto smaller = run_with(4);
    smaller.data = run.data;
    DataLoader after{smaller, corpus.training(), whole, true, progress};

    EXPECT_EQ(samples_of_step(after, smaller, 5), numbers(60, 64));
    EXPECT_EQ(samples_of_step(after, smaller, 6), numbers(64, 68));
    const checkpoint::TrainingProgress later{.step = 7, .next_sample = after.first_sample(7)};
    DataLoader again{run, corpus.training(), whole, true, later};
    EXPECT_EQ(samples_of_step(again, run, 7), numbers(68, 80));
}

}  // namespace
}  // namespace ziggurat::train
