#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "tests/emulated_cuda/enqueue.hpp"
#include "tests/unit/emulated_cuda/gpu_fixture.hpp"

namespace ziggurat::test {
namespace {

using testing::HasSubstr;

class EmulatedStreams : public EmulatedGpu {
  protected:
    EmulatedStreams() {
        EXPECT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDefault), cudaSuccess);
    }
    ~EmulatedStreams() override {
        cudaEventDestroy(event);
        cudaStreamDestroy(other);
    }
    void copy(void* to, const void* from, std::size_t bytes, cudaStream_t on) {
        ASSERT_EQ(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, on), cudaSuccess);
    }
    /// Returns true if results of `stream` are visible in `other`, which waits for it only if `waits`.
    bool is_there_for_the_other(bool waits) {
        int value = 0;
        int seen = 0;
        emulated_cuda::enqueue(stream, [&] { value = 1; });
        cudaEventRecord(event, stream);
        if (waits) {
            cudaStreamWaitEvent(other, event);
        }
        emulated_cuda::enqueue(other, [&] { seen = value; });
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        return seen == 1;
    }

    cudaStream_t other = nullptr;
    cudaEvent_t event = nullptr;
};

TEST_F(EmulatedStreams, WorkIsDoneInOrderAndNotBeforeItIsWaitedFor) {
    std::vector<int> done;
    for (int i = 0; i < 20; ++i) {
        emulated_cuda::enqueue(stream, [&done, i] { done.push_back(i); });
    }
    EXPECT_TRUE(done.empty());
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);

    ASSERT_EQ(done.size(), 20u);
    EXPECT_TRUE(std::ranges::is_sorted(done));
}

TEST_F(EmulatedStreams, AMissingWaitForAnEventIsFound) {
    int there = 0;
    for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(is_there_for_the_other(true));
        there += is_there_for_the_other(false) ? 1 : 0;
    }
    EXPECT_LT(there, 50);
    EXPECT_GT(there, 0) << "order is random";
}

TEST_F(EmulatedStreams, CopiesReadAndWriteWhenTheyRun) {
    PinnedInts host{4};
    PinnedInts back{4};
    int* const device = reserve(4);
    copy(device, host.data(), host.bytes(), stream);
    copy(back.data(), device, back.bytes(), stream);
    host[2] = 5;
    EXPECT_EQ(back[2], -1);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);

    EXPECT_EQ(back[2], 5) << "the copy read what was there when it ran";
}

TEST_F(EmulatedStreams, CopiesOfMemoryThatIsNotPinnedAreRefused) {
    int host[4] = {};
    int* const device = reserve(4);

    EXPECT_EQ(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyDefault, stream),
              cudaErrorHostMemoryNotRegistered);
    EXPECT_THAT(cudaGetErrorString(cudaErrorHostMemoryNotRegistered), HasSubstr("not pinned"));
    EXPECT_EQ(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDefault, stream),
              cudaErrorHostMemoryNotRegistered);
    PinnedInts pinned{4};
    copy(device, pinned.data(), pinned.bytes(), stream);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << "it recovers";
}

TEST_F(EmulatedStreams, CopiesStayWithinAPieceOfMemory) {
    int* const device = reserve(4);
    PinnedInts pinned{5};

    EXPECT_EQ(cudaMemcpyAsync(device, pinned.data(), pinned.bytes(), cudaMemcpyDefault, stream),
              cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemsetAsync(device, 0, 20, stream), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemsetAsync(device, 0, 16, stream), cudaSuccess);
}

TEST_F(EmulatedStreams, PinningTakesMemoryOnce) {
    PinnedInts pinned{100};

    EXPECT_EQ(cudaHostRegister(&pinned[50], 4, cudaHostRegisterPortable),
              cudaErrorHostMemoryAlreadyRegistered);
    EXPECT_EQ(cudaHostUnregister(&pinned[50]), cudaErrorHostMemoryNotRegistered);
}

TEST_F(EmulatedStreams, EventsTellOfTheirLastRecord) {
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess) << "never recorded";
    float ms = 0;
    EXPECT_EQ(cudaEventElapsedTime(&ms, event, event), cudaErrorInvalidResourceHandle);
    cudaEvent_t later = nullptr;
    ASSERT_EQ(cudaEventCreateWithFlags(&later, cudaEventDefault), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    emulated_cuda::enqueue(stream, [] {});
    ASSERT_EQ(cudaEventRecord(later, stream), cudaSuccess);
    ASSERT_EQ(cudaEventSynchronize(later), cudaSuccess);

    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    ASSERT_EQ(cudaEventElapsedTime(&ms, event, later), cudaSuccess);
    EXPECT_GT(ms, 0);
    ASSERT_EQ(cudaEventElapsedTime(&ms, later, event), cudaSuccess);
    EXPECT_LT(ms, 0);
    cudaEventDestroy(later);
}

TEST_F(EmulatedStreams, APollComesToTheEndOfWork) {
    for (int i = 0; i < 10; ++i) {
        emulated_cuda::enqueue(stream, [] {});
    }
    ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    int polls = 0;
    for (; cudaEventQuery(event) == cudaErrorNotReady; ++polls) {}

    EXPECT_GT(polls, 0);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorNotReady);
}

TEST_F(EmulatedStreams, AStreamThatIsDestroyedDoesItsWork) {
    int done = 0;
    cudaStream_t brief = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking), cudaSuccess);
    emulated_cuda::enqueue(brief, [&] { ++done; });
    ASSERT_EQ(cudaStreamDestroy(brief), cudaSuccess);

    EXPECT_EQ(cudaStreamSynchronize(brief), cudaErrorInvalidResourceHandle);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(done, 1);
}

using EmulatedStreamsDeathTest = EmulatedStreams;

TEST_F(EmulatedStreamsDeathTest, AThreadOfTheHostThatReadsAGpusMemoryEnds) {
    const volatile int* const device = reserve(4);

    EXPECT_DEATH(static_cast<void>(device[1]), "a thread of the host touched byte 4 of 16");
}

TEST_F(EmulatedStreams, FaultsHappenWhenTheyAreAskedFor) {
    PinnedInts pinned{4};
    int* const device = reserve(4);
    void* more = nullptr;
    emulated_cuda::set_faults("malloc:2,copy:1,pin:1");

    EXPECT_EQ(cudaMalloc(&more, 8), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&more, 8), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaMalloc(&more, 8), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(device, pinned.data(), 16, cudaMemcpyDefault, stream), cudaErrorUnknown);
    EXPECT_EQ(cudaHostRegister(&more, 8, cudaHostRegisterPortable), cudaErrorMemoryAllocation);
}

TEST_F(EmulatedStreams, ALostGpuStaysLost) {
    emulated_cuda::set_faults("lost:2");
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaErrorDevicesUnavailable);

    EXPECT_EQ(cudaEventRecord(event, stream), cudaErrorDevicesUnavailable);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorDevicesUnavailable);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorDevicesUnavailable);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 8), cudaErrorDevicesUnavailable);
}

}  // namespace
}  // namespace ziggurat::test
