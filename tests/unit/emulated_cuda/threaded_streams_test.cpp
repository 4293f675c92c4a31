/// Streams that are threads (ZIGGURAT_EMULATED_CUDA=threads); with the thread sanitizer also planted
/// races.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "device/cuda/unpinned_cuda.hpp"
#include "tests/emulated_cuda/enqueue.hpp"
#include "tests/unit/emulated_cuda/gpu_fixture.hpp"

namespace ziggurat::test {
namespace {

constexpr int threads = 128;

/// Replaces each thread's value by that of the thread at the other end, through shared memory.
template <bool has_barrier>
__global__ void turn_around(int* values) {
    __shared__ int turned[threads];
    turned[threads - 1 - threadIdx.x] = values[threadIdx.x];
    if constexpr (has_barrier) {
        __syncthreads();
    }
    values[threadIdx.x] = turned[threadIdx.x];
    __syncthreads();
}

class ThreadedStreams : public EmulatedGpu {
  protected:
    ThreadedStreams() {
        EXPECT_EQ(emulated_cuda::settings().mode, emulated_cuda::Mode::threads)
            << "set ZIGGURAT_EMULATED_CUDA";
        EXPECT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDefault), cudaSuccess);
    }
    ~ThreadedStreams() override {
        cudaEventDestroy(event);
        cudaStreamDestroy(other);
    }

    template <bool has_barrier>
    void turn() {
        for (int i = 0; i < threads; ++i) {
            values.push_back(i);
        }
        ASSERT_EQ(launch(1, threads, turn_around<has_barrier>, values.data()), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    }
    /// Writes with one stream and reads with another, many times.
    template <bool waits>
    void pass_on() {
        for (int i = 1; i <= 40; ++i) {
            emulated_cuda::enqueue(stream, [this, i] { passed = i; });
            cudaEventRecord(event, stream);
            if (waits) {
                cudaStreamWaitEvent(other, event);
            }
            emulated_cuda::enqueue(other, [this] { seen = passed; });
            ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
            if (waits) {
                ASSERT_EQ(seen, i);
            }
        }
    }

    cudaStream_t other = nullptr;
    cudaEvent_t event = nullptr;
    std::vector<int> values = {};
    int passed = 0;
    int seen = 0;
};

TEST_F(ThreadedStreams, ABarrierOrdersTheThreadsOfABlock) {
    turn<true>();

    for (int i = 0; i < threads; ++i) {
        EXPECT_EQ(values[static_cast<std::size_t>(i)], threads - 1 - i);
    }
}

TEST_F(ThreadedStreams, AnEventOrdersStreams) {
    pass_on<true>();
}

TEST_F(ThreadedStreams, TheHostReadsWhatItHasWaitedFor) {
    int value = 0;
    emulated_cuda::enqueue(stream, [&] { value = 1; });
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(value, 1);

    emulated_cuda::enqueue(stream, [&] { value = 2; });
    ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    while (cudaEventQuery(event) == cudaErrorNotReady) {}
    EXPECT_EQ(value, 2);
}

/// Twelve pieces go through two halves of a buffer, so each half is filled again five times.
TEST_F(ThreadedStreams, CopiesOfUnpinnedMemoryReuseTheirBufferInOrder) {
    constexpr std::int64_t count = (std::int64_t{46} << 20) / 4;
    std::vector<int> there(count), back(count);
    std::iota(there.begin(), there.end(), 0);
    int* on_gpu = nullptr;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&on_gpu), 4 * count), cudaSuccess);
    device::cuda::UnpinnedCopies copies;

    copies.into_gpu(stream, reinterpret_cast<std::byte*>(on_gpu),
                    reinterpret_cast<const std::byte*>(there.data()), 4 * count);
    copies.from_gpu(stream, reinterpret_cast<std::byte*>(back.data()),
                    reinterpret_cast<const std::byte*>(on_gpu), 4 * count);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);

    const auto differs = std::ranges::mismatch(there, back).in1;
    EXPECT_EQ(differs - there.begin(), count) << "the first number that differs";
}

#ifdef __SANITIZE_THREAD__
/// Each death is a report of the sanitizer, which ends the process (TSAN_OPTIONS=halt_on_error=1).
class ThreadedStreamsDeathTest : public ThreadedStreams {
  protected:
    ThreadedStreamsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ThreadedStreamsDeathTest, ABarrierThatIsMissingIsARace) {
    EXPECT_DEATH(turn<false>(), "data race");
}

TEST_F(ThreadedStreamsDeathTest, AWaitForAnEventThatIsMissingIsARace) {
    EXPECT_DEATH(pass_on<false>(), "data race");
}

TEST_F(ThreadedStreamsDeathTest, AReadOfWhatNobodyHasWaitedForIsARace) {
    EXPECT_DEATH(
        {
            emulated_cuda::enqueue(stream, [this] { passed = 1; });
            seen = passed;
            cudaDeviceSynchronize();
        },
        "data race");
}
#endif

}  // namespace
}  // namespace ziggurat::test
