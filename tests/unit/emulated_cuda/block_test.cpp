#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/emulated_cuda/gpu_fixture.hpp"

namespace ziggurat::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class EmulatedBlock : public EmulatedGpu {};

/// Sums the values of a block, by shuffles in warps and shared memory between them.
template <int threads>
__global__ void sum_blocks(const int* values, int* sums) {
    __shared__ int of_warp[threads / 32];
    int sum = values[blockIdx.x * blockDim.x + threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, static_cast<unsigned>(distance));
    }
    if (threadIdx.x % 32 == 0) {
        of_warp[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int all = 0;
        for (const int each : of_warp) {
            all += each;
        }
        sums[blockIdx.x] = all;
    }
    __syncthreads();
}

TEST_F(EmulatedBlock, SumsByShufflesAndSharedMemory) {
    constexpr int threads = 1024;
    constexpr int blocks = 5;
    std::vector<int> values(threads * blocks);
    std::iota(values.begin(), values.end(), 7);
    std::vector<int> sums(blocks);

    ASSERT_EQ(launch(blocks, threads, sum_blocks<threads>, values.data(), sums.data()), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);

    for (int block = 0; block < blocks; ++block) {
        const auto begin = values.begin() + block * threads;
        EXPECT_EQ(sums[static_cast<std::size_t>(block)], std::accumulate(begin, begin + threads, 0));
    }
}

struct Exchanged {
    int from_third[64], flipped[64], above[64], below[64];
    unsigned odd[64];
    int any[64], all[64];
    long long wide[64];
};

__global__ void exchange_all(Exchanged* of) {
    const auto i = threadIdx.x;
    const int value = static_cast<int>(100 + i);
    of->from_third[i] = __shfl_sync(0xffffffff, value, 3);
    of->flipped[i] = __shfl_xor_sync(0xffffffff, value, 5);
    of->above[i] = __shfl_down_sync(0xffffffff, value, 30);
    of->below[i] = __shfl_up_sync(0xffffffff, value, 1);
    of->odd[i] = __ballot_sync(0xffffffff, value % 2);
    of->any[i] = __any_sync(0xffffffff, value == 140);
    of->all[i] = __all_sync(0xffffffff, value < 132);
    of->wide[i] = __shfl_sync(0xffffffff, (1LL << 40) + value, 31);
}

TEST_F(EmulatedBlock, ExchangesAsTheManualSays) {
    Exchanged got{};
    ASSERT_EQ(launch(1, 64, exchange_all, &got), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);

    for (int i = 0; i < 64; ++i) {
        const int warp = i / 32 * 32;
        const int lane = i % 32;
        EXPECT_EQ(got.from_third[i], 103 + warp);
        EXPECT_EQ(got.flipped[i], 100 + warp + (lane ^ 5));
        EXPECT_EQ(got.above[i], 100 + i + (lane < 2 ? 30 : 0));
        EXPECT_EQ(got.below[i], 100 + i - (lane > 0 ? 1 : 0));
        EXPECT_EQ(got.odd[i], 0xaaaaaaaa);
        EXPECT_EQ(got.any[i], warp == 32);
        EXPECT_EQ(got.all[i], warp == 0);
        EXPECT_EQ(got.wide[i], (1LL << 40) + 131 + warp);
    }
}

__global__ void count_with_atomics(unsigned long long* sum, int* max, unsigned* bits) {
    atomicAdd(sum, blockIdx.x * 1000ULL + threadIdx.x);
    atomicMax(max, static_cast<int>(threadIdx.x));
    atomicOr(bits, 1u << blockIdx.x);
}

TEST_F(EmulatedBlock, HasAtomicsOnIntegers) {
    unsigned long long sum = 0;
    int max = -1;
    unsigned bits = 0;
    ASSERT_EQ(launch(3, 64, count_with_atomics, &sum, &max, &bits), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);

    EXPECT_EQ(sum, 64 * 3000u + 3 * 63 * 32u);
    EXPECT_EQ(max, 63);
    EXPECT_EQ(bits, 7u);
}

__global__ void reach_a_barrier_in_a_branch() {
    if (threadIdx.x < 40) {
        __syncthreads();
    }
}

TEST_F(EmulatedBlock, ABarrierInABranchEndsTheKernelWithItsName) {
    ASSERT_EQ(launch(2, 64, reach_a_barrier_in_a_branch), cudaSuccess);

    EXPECT_THAT(outcome(), AllOf(HasSubstr("cudaErrorLaunchFailure"),
                                 HasSubstr("reach_a_barrier_in_a_branch"), HasSubstr("block (0, 0, 0)"),
                                 HasSubstr("block_test.cpp:"), HasSubstr("has ended without coming there")));
}

__global__ void reach_a_barrier_that_others_left() {
    if (threadIdx.x >= 24) {
        __syncthreads();
    }
}

TEST_F(EmulatedBlock, ABarrierDoesNotDoWithoutThreadsThatHaveEnded) {
    ASSERT_EQ(launch(2, 64, reach_a_barrier_that_others_left), cudaSuccess);

    EXPECT_THAT(outcome(), AllOf(HasSubstr("reach_a_barrier_that_others_left"),
                                 HasSubstr("thread 23 has ended without coming there")));
}

__global__ void report_order(int* count, int* turns) {
    turns[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(count, 1);
}

TEST_F(EmulatedBlock, ThreadsBeginInTheOtherOrderEveryOtherTime) {
    int count = 0;
    std::vector<int> turns(128);
    ASSERT_EQ(launch(2, 64, report_order, &count, turns.data()), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);

    EXPECT_NE(turns[0] < turns[63], turns[64] < turns[127]);
}

__global__ void reach_two_barriers() {
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}

TEST_F(EmulatedBlock, TwoBarriersAtOnceEndTheKernel) {
    ASSERT_EQ(launch(1, 64, reach_two_barriers), cudaSuccess);

    EXPECT_THAT(outcome(), AllOf(HasSubstr("reach_two_barriers"), HasSubstr("threads of one block wait at")));
}

__global__ void shuffle_without_the_last_lane(int* to) {
    if (threadIdx.x != 31) {
        *to = __shfl_xor_sync(0xffffffff, 1, 1);
    }
}

TEST_F(EmulatedBlock, AShuffleThatALaneMissesEndsTheKernel) {
    int to = 0;
    ASSERT_EQ(launch(1, 32, shuffle_without_the_last_lane, &to), cudaSuccess);

    EXPECT_THAT(outcome(),
                AllOf(HasSubstr("shuffle_without_the_last_lane"), HasSubstr("thread 31 has ended")));
}

__global__ void shuffle_in_half_a_warp(int* to) {
    *to = __shfl_xor_sync(0xffff, 1, 1);
}

TEST_F(EmulatedBlock, AMaskOfAPartIsRefused) {
    int to = 0;
    ASSERT_EQ(launch(1, 32, shuffle_in_half_a_warp, &to), cudaSuccess);

    EXPECT_THAT(outcome(), HasSubstr("a shuffle among a part of the lanes"));
}

__global__ void give_up() {
    __trap();
}

TEST_F(EmulatedBlock, ATrapEndsTheKernel) {
    ASSERT_EQ(launch(1, 32, give_up), cudaSuccess);

    EXPECT_THAT(outcome(),
                AllOf(HasSubstr("cudaErrorLaunchFailure"), HasSubstr("give_up"), HasSubstr("it gave up at")));
}

__global__ void write_at(int* memory, int index) {
    if (threadIdx.x == 0) {
        memory[index] = 1;
    }
}

TEST_F(EmulatedBlock, AWriteBehindTheEndIsAnIllegalAddress) {
    ASSERT_EQ(launch(1, 32, write_at, reserve(64), 64), cudaSuccess);

    EXPECT_THAT(outcome(), AllOf(HasSubstr("cudaErrorIllegalAddress"), HasSubstr("write_at"),
                                 HasSubstr("byte 256 of 256")));
    EXPECT_EQ(launch(1, 32, write_at, static_cast<int*>(nullptr), 0), cudaErrorIllegalAddress)
        << "it does not recover";
    ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST_F(EmulatedBlock, AWriteInFrontOfTheBeginningIsFoundToo) {
    ASSERT_EQ(launch(1, 32, write_at, reserve(1024), -1), cudaSuccess);

    EXPECT_THAT(outcome(), HasSubstr("byte -4 of 4096"));
}

TEST_F(EmulatedBlock, AWriteJustBehindTheEndIsFoundWhenTheMemoryIsFreed) {
    int* const memory = reserve(63);
    ASSERT_EQ(launch(1, 32, write_at, memory, 63), cudaSuccess);

    EXPECT_EQ(cudaFree(memory), cudaErrorIllegalAddress);
}

TEST_F(EmulatedBlock, ANullAddressIsIllegal) {
    ASSERT_EQ(launch(1, 32, write_at, static_cast<int*>(nullptr), 3), cudaSuccess);

    EXPECT_THAT(outcome(), AllOf(HasSubstr("cudaErrorIllegalAddress"), HasSubstr("write_at")));
}

TEST_F(EmulatedBlock, RefusesGridsThatAGpuRefuses) {
    EXPECT_EQ(launch(0, 32, write_at, reserve(1), 0), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(1, 1056, write_at, reserve(1), 0), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(0x80000000u, 32, write_at, reserve(1), 0), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
}

}  // namespace
}  // namespace ziggurat::test
