/// Updates that copy their state to a save, and the threads that run them while the ring is full.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "schedule/passes/save_ring_pass.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/ops/save_stream.hpp"

namespace ziggurat::train {
namespace {

/// Returns a run with many small chunks of optimizer state on NVMe.
spec::RunSpec run_in(const test::ScratchFolder& folder) {
    auto run = test::tiny_run("gpt2", 1, 1, 1);
    run.tiers.optimizer = {0, 0, 1};
    run.tiers.chunk_elements = 4096;
    run.tiers.nvme_block_bytes = 8192;
    run.tiers.nvme_paths = {folder.path()};
    run.checkpoint = {spec::Interval{.steps = 1}, 100, 0, true};
    return run;
}

void do_step(Assembly& assembly, const spec::RunSpec& run, std::int64_t step) {
    for (const auto& slot : assembly.train_slots()) {
        for (std::size_t i = 0; i < slot.tokens.size(); ++i) {
            slot.tokens[i] = static_cast<std::int32_t>(i * 5 % 41);
            slot.targets[i] = static_cast<std::int32_t>(i * 7 % 41);
            slot.mask[i] = 1;
        }
    }
    assembly.step_inputs() =
        optim::make_step_inputs(run.optimizer, run.train.average,
                                optim::learning_rate(run.schedule, run.optimizer.lr, run.train.steps, step),
                                step, step + 1, run.train.global_batch * run.data.seq);
    assembly.train_executor().run_step();
    assembly.train_executor().finish();
}

/// Returns true if `thread` runs its tasks although no part is taken from the ring.
bool is_free(device::HostThread& thread) {
    using namespace std::chrono_literals;
    device::Task probe{.work = [] {}};
    thread.post(probe);
    for (int i = 0; i < 10'000; ++i) {
        if (thread.is_done(probe)) {
            return true;
        }
        std::this_thread::sleep_for(1ms);
    }
    return false;
}

/// Returns the bytes on NVMe, by buffer.
std::map<int, std::vector<std::byte>> bytes_at_home(const StateView& state) {
    std::map<int, std::vector<std::byte>> found;
    for (std::size_t b = 0; b < state.program.buffers.size(); ++b) {
        const auto& buffer = state.program.buffers[b];
        if (buffer.tier == spec::Tier::nvme && buffer.lifetime == schedule::Lifetime::persistent) {
            auto& bytes = found[static_cast<int>(b)];
            bytes.resize(static_cast<std::size_t>(buffer.bytes));
            state.memory.read(buffer, 0, bytes);
        }
    }
    return found;
}

TEST(SaveRing, KeepsNoThreadOfTheHostWaiting) {
    const test::ScratchFolder folder;
    const auto run = run_in(folder);
    const auto devices = test::processors_for_tests(run.parallel.threads);
    Assembly assembly{run, test::world(), devices};
    do_step(assembly, run, 0);
    const auto state = assembly.state();
    const auto before = bytes_at_home(state);
    auto& stream = state.stream_to_save;
    ASSERT_TRUE(stream.is_present());
    stream.open();
    bool was_free = true, is_as_before = true;
    int taken = 0;
    std::thread writer{[&] {
        for (auto next = stream.next(true); next != SaveStream::Next::at_home; next = stream.next(true)) {
            if (next == SaveStream::Next::later) {
                continue;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{20});  // so that the ring is full, mostly
            if (auto* thread = devices.host.thread(); thread != nullptr && was_free) {
                was_free = is_free(*thread);
            }
            stream.take([&](const SaveStream::Part& part) {
                const auto& whole = before.at(part.home);
                const auto* at = whole.data() + part.offset_bytes;
                is_as_before = is_as_before && std::equal(part.bytes.begin(), part.bytes.end(), at);
            });
            ++taken;
        }
        stream.close();
    }};

    do_step(assembly, run, 1);
    writer.join();

    EXPECT_TRUE(was_free);
    EXPECT_TRUE(is_as_before) << "none gave way to the next before it was taken";
    EXPECT_GT(taken, schedule::save_ring_slots) << "so some were held up";
}

/// Returns the updates that copy their state to the save, made to change nothing, in order.
std::vector<Action> idle_updates(const StateView& state) {
    std::vector<Action> updates;
    int last = -1;
    for (const auto& run : schedule::streamed_ranges(state.model, state.program)) {
        if (std::exchange(last, run.op) != run.op) {
            updates.push_back(state.stream_to_save.applied_to(run.op, device::Stream{1}, {.run = [] {}}));
        }
    }
    return updates;
}

TEST(SaveRing, LetsNoUpdateChangeWhatIsReadAtHome) {
    const test::ScratchFolder folder;
    const auto run = run_in(folder);
    const auto devices = test::processors_for_tests(run.parallel.threads);
    Assembly assembly{run, test::world(), devices};
    const auto state = assembly.state();
    auto& stream = state.stream_to_save;
    ASSERT_TRUE(stream.is_present());
    const auto updates = idle_updates(state);
    const auto& first = updates.front();
    EXPECT_TRUE(first.may_begin()) << "nothing is saved";

    stream.open();
    stream.read_rest_from_home();
    EXPECT_EQ(stream.next(false), SaveStream::Next::at_home);
    EXPECT_FALSE(first.may_begin()) << "it is being read where it lies";
    EXPECT_EQ(stream.next(false), SaveStream::Next::at_home) << "and nothing passes any more";
    stream.close();
    EXPECT_TRUE(first.may_begin());

    stream.open();
    for (const auto& update : updates) {
        ASSERT_TRUE(update.may_begin());
        update.run();
        while (stream.next(true) != SaveStream::Next::parts) {
            first.may_begin();  // updates the ring's progress
        }
        stream.take([](const SaveStream::Part&) {});
    }
    stream.read_rest_from_home();
    EXPECT_TRUE(first.may_begin()) << "all has passed";
    stream.close();
}

}  // namespace
}  // namespace ziggurat::train
