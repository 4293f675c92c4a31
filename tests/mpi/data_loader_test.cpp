#include "train/data_loader.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <span>
#include <string>
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
          samples(static_cast<std::size_t>(run.train.micro_batch * (run.parallel.has_cube() ? 2 : 1))),
          losses(mask.size()) {}

    /// Returns the slot of a rank with one of `parts` of the positions.
    BatchSlot slot(std::size_t parts = 1) {
        const std::span<std::int32_t> all{ints};
        const auto size = mask.size() / parts;
        return {all.first(size),
                all.subspan(size, size),
                all.subspan(2 * size, size),
                all.subspan(ints.size() - mask.size()),
                std::span{mask}.first(size),
                samples,
                std::span{losses}.first(size)};
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

/// A cube of two ranks per side, and a file of 64 bytes of which byte b is b; 18 begins a document.
struct CubeRun {
    test::ScratchFolder folder;
    spec::RunSpec run = run_with(8);

    CubeRun() {
        std::ofstream text{folder.file("text"), std::ios::binary};
        for (int byte = 0; byte < 64; ++byte) {
            text.put(static_cast<char>(byte));
        }
        auto& parallel = run.parallel;
        parallel.tensor = parallel.tensor_rows = parallel.tensor_depth = parallel.data = 2;
        parallel.tensor_mode = spec::TensorMode::three_d;
        parallel.ranks = 8;
        run.train.micro_batches = 1;
        run.data.train.push_back({spec::TokenFormat::text, folder.file("text")});
        run.data.reset_at_document = true;
        run.data.document_token = 18;
    }
};

// Group 1 has samples 2 and 3, group 2 has samples 4 and 5.
TEST(DataLoader, GivesARankOfACubeTokensAndTargetsOfDifferentSequences) {
    CubeRun cube;
    auto& run = cube.run;
    for (const char* family : {"gpt2", "llama"}) {
        run.model.family = family;
        const data::Corpus corpus{run.data, 256, 1};
        DataLoader feeder{
            run, corpus.training(), {.group = 1, .turned_group = 2, .positions = whole.positions}, true};
        SlotMemory memory{run};
        const auto slot = memory.slot();
        feeder.fill(0, std::span{&slot, 1}, test::world());

        for (int i = 0; i < 8; ++i) {
            EXPECT_EQ(slot.tokens[static_cast<std::size_t>(i)], 8 + i) << family;
            EXPECT_EQ(slot.targets[static_cast<std::size_t>(i)], 17 + i) << family;
        }
        EXPECT_EQ(memory.samples, numbers(2, 6)) << family;
        EXPECT_EQ(slot.document_starts[3], 2) << family;
        // Lookups need the positions of tokens, rotations those of attention.
        EXPECT_EQ(slot.positions[3], std::string{family} == "gpt2" ? 3 : 1) << family;
    }
}

// The first of two ranks of a ring has the first and the last of four blocks: positions 0 and 3.
TEST(DataLoader, GivesAContextRankOfACubeItsPositionsOfBothSequences) {
    CubeRun cube;
    auto& run = cube.run;
    run.parallel.context = 2;
    run.parallel.data *= 2;
    run.model.family = "gpt2";
    const data::Corpus corpus{run.data, 256, 1};
    DataLoader feeder{run,
                      corpus.training(),
                      {.group = 1, .turned_group = 2, .positions = layout::context_rows(run.parallel, 0, 4)},
                      true};
    SlotMemory memory{run};
    const auto slot = memory.slot(2);
    feeder.fill(0, std::span{&slot, 1}, test::world());

    const auto as_ints = [](std::span<const std::int32_t> some) {
        return std::vector<int>(some.begin(), some.end());
    };
    EXPECT_EQ(as_ints(slot.tokens), (std::vector{8, 11, 12, 15}));
    EXPECT_EQ(as_ints(slot.targets), (std::vector{17, 20, 21, 24}));
    EXPECT_EQ(as_ints(slot.positions), (std::vector{0, 3, 0, 3}));
}

}  // namespace
}  // namespace ziggurat::train
