/// A step makes no heap allocations: the number of allocations does not depend on the number of steps.
///
/// Counts calls of malloc and related functions by Ziggurat's own code, at any depth of the C and C++
/// libraries. Allocations of oneDNN and MPI within their own calls are not counted.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <link.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "comm/control.hpp"
#include "deck/load.hpp"
#include "device/device.hpp"
#include "tests/support/rank_test.hpp"
#include "train/console/console.hpp"
#include "train/control/stop_signals.hpp"
#include "train/trainer.hpp"

extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t bytes);

namespace {

std::atomic<bool> is_counting{false};
std::atomic<long> ours{0};
thread_local bool is_looking = false;

/// Returns the program or library that contains an address; nullptr if none does.
///
/// Unlike dladdr, it does not look up a symbol, which took most of this test's time.
const link_map* object_of(void* address) {
    dl_find_object found{};
    return _dl_find_object(address, &found) == 0 ? found.dlfo_link_map : nullptr;
}

/// Returns true if the innermost caller outside libc and libstdc++ is this program.
bool called_by_us() {
    std::array<void*, 24> frames{};
    const int depth = backtrace(frames.data(), int(frames.size()));
    static const link_map* const me = object_of(reinterpret_cast<void*>(&called_by_us));
    for (int i = 3; i < depth; ++i) {  // skips this function, the counter and malloc
        const link_map* const object = object_of(frames[std::size_t(i)]);
        if (object == nullptr || object == me) {
            return object == me;
        }
        if (std::strstr(object->l_name, "libc.so") == nullptr &&
            std::strstr(object->l_name, "libstdc++") == nullptr) {
            return false;
        }
    }
    return false;
}

[[gnu::noinline]] void count_one() {
    if (!is_counting.load(std::memory_order_relaxed) || is_looking) {
        return;
    }
    is_looking = true;
    ours += called_by_us() ? 1 : 0;
    is_looking = false;
}

}  // namespace

extern "C" [[gnu::noinline]] void* malloc(std::size_t bytes) {
    count_one();
    return __libc_malloc(bytes);
}

extern "C" [[gnu::noinline]] void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    count_one();
    return __libc_memalign(alignment, bytes);
}

namespace ziggurat::train {
namespace {

struct Training {
    const char* name;
    const char* model;
    const char* sharding;
};

/// Returns the allocations of Ziggurat's code in a run of `steps` steps, including start and end.
long allocations_of_run(const std::string& folder, const Training& training, int steps) {
    const int ranks = test::world().size();
    deck::LoadOptions options;
    options.ranks = ranks;
    options.threads = 1;
    const std::string text = "deck_version: 1\nrun: {dir: " + folder + "/run}\nmodel: {" + training.model +
                             ", layers: 2, hidden: 32, heads: 2, max_seq: 32}\n"
                             "data: {tokenizer: bytes, seq: 32, train: [{format: text, path: " +
                             folder + "/text.txt}]}\ntrain: {steps: " + std::to_string(steps) +
                             ", global_batch: " + std::to_string(4 * ranks) +
                             ", micro_batch: 2}\nlogging: {every: 1 steps}\nschedule: {kind: constant, "
                             "warmup: 0 steps}\nsharding: {" +
                             training.sharding +
                             "}\ntiers: {device: {kind: host}}\ncheckpoint: {every: none}\n";
    const auto loaded = deck::load_text(text, "step_allocations", {}, options);
    EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    if (!loaded.ok()) {
        return -1;
    }
    if (test::world().rank() == 0) {  // leave no earlier run to move aside
        std::filesystem::remove_all(folder + "/run");
    }
    MPI_Barrier(test::world().group().native());
    StopSignals signals;
    Console console{Console::quiet};
    const long before = ours;
    is_counting = true;
    train(loaded.run, {"test", "none", "test", loaded.effective}, test::world(),
          device::RankDevices::of_host(1), signals, console);
    is_counting = false;
    return ours - before;
}

class StepAllocations : public ::testing::TestWithParam<Training> {};

TEST_P(StepAllocations, AreNone) {
    // A folder of this job: other jobs may run the same test.
    const auto job = comm::broadcast(test::world(), std::to_string(::getpid()));
    const auto folder = std::filesystem::temp_directory_path() / ("ziggurat-step-allocations-" + job);
    std::filesystem::create_directories(folder);
    if (test::world().rank() == 0) {
        std::ofstream text{folder / "text.txt"};
        for (int line = 0; line < 500; ++line) {
            text << "line " << line << " of a text that is long enough\n";
        }
    }
    MPI_Barrier(test::world().group().native());
    allocations_of_run(folder, GetParam(), 10);  // allocations made once per process

    const long shorter = allocations_of_run(folder, GetParam(), 20);
    const long longer = allocations_of_run(folder, GetParam(), 620);

    EXPECT_GT(shorter, 100) << "the counter counts nothing";
    // The final account names the waits, so its number of allocations varies between runs. One allocation
    // per step would be 600.
    EXPECT_LT(longer - shorter, 200) << "allocations in 600 more steps";
    MPI_Barrier(test::world().group().native());
    if (test::world().rank() == 0) {
        std::filesystem::remove_all(folder);
    }
}

INSTANTIATE_TEST_SUITE_P(Trainings,
                         StepAllocations,
                         ::testing::Values(Training{"ZeRO0", "family: gpt2, dropout: 0.1", "zero: 0"},
                                           Training{"ZeRO3", "family: llama, ffn_hidden: 48", "zero: 3"}),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace ziggurat::train
