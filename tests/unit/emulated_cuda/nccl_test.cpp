/// The emulated NCCL rejects calls that could hang on real GPUs.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <array>
#include <string>

namespace {

/// A communicator of one process, its stream, and GPU memory.
class Communicator {
  public:
    explicit Communicator(int blocks) {
        ncclUniqueId id;
        EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        config.maxCTAs = blocks;
        EXPECT_EQ(ncclCommInitRankConfig(&comm_, 1, id, 0, &config), ncclInProgress);
        wait();
        EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaMalloc(&memory_, 64), cudaSuccess);
    }
    ~Communicator() {
        cudaStreamSynchronize(stream_);
        ncclCommAbort(comm_);
        cudaStreamDestroy(stream_);
        cudaFree(memory_);
    }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// Starts a sum and waits until it is in the stream.
    ncclResult_t start() {
        const auto result = ncclAllReduce(memory_, memory_, 16, ncclFloat32, ncclSum, comm_, stream_);
        if (result == ncclSuccess || result == ncclInProgress) {
            wait();
        }
        return result;
    }
    void finish() { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }

  private:
    void wait() {
        auto state = ncclInProgress;
        while (state == ncclInProgress) {
            ASSERT_EQ(ncclCommGetAsyncError(comm_, &state), ncclSuccess);
        }
    }

    ncclComm_t comm_ = nullptr;
    cudaStream_t stream_ = nullptr;
    void* memory_ = nullptr;
};

bool is_taken(ncclResult_t result) {
    return result == ncclSuccess || result == ncclInProgress;
}

TEST(EmulatedNccl, RefusesCommunicatorsInFlightThatDoNotFitOnAGpuTogether) {
    Communicator first{100};
    Communicator second{33};
    ASSERT_TRUE(is_taken(first.start()));

    EXPECT_EQ(second.start(), ncclInvalidUsage);
    EXPECT_NE(std::string{ncclGetLastError(nullptr)}.find("133 blocks at once, of a GPU's 132"),
              std::string::npos);
}

TEST(EmulatedNccl, TakesThoseThatFitAndThoseThatFollowEachOther) {
    Communicator first{100};
    Communicator second{32};
    Communicator third{132};
    EXPECT_TRUE(is_taken(first.start()));
    EXPECT_TRUE(is_taken(first.start()));
    EXPECT_TRUE(is_taken(second.start()));
    first.finish();
    second.finish();
    EXPECT_TRUE(is_taken(third.start()));
}

}  // namespace
