/// A communicator of one rank, which needs no second GPU: the library is found, starts, computes, and
/// ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "comm/nccl/nccl_communicator_cuda.hpp"
#include "comm/nccl/nccl_library_cuda.hpp"
#include "device/copy.hpp"
#include "device/cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "device/discovery.hpp"
#include "layout/nccl_blocks.hpp"

namespace ziggurat::comm {
namespace {

constexpr std::size_t count = 4096;
constexpr std::int64_t bytes = count * sizeof(float);

class SingleNccl : public testing::Test {
  protected:
    void SetUp() override {
        if (device::discover().count == 0) {
            GTEST_SKIP() << "there is no GPU";
        }
        gpu_ = device::cuda::make_device(0, nullptr);
        stream_ = gpu_->make_stream();
        memory_ = gpu_->reserve(2 * bytes, "vectors of a test", device::Arena::Kind::own);
        pinned_ = gpu_->pin(host_);
        communicator_.begin(stream_, NcclCommunicator::make_id("alone"), 1, 0, layout::max_blocks_of_group);
        wait();
        for (std::size_t i = 0; i < count; ++i) {
            values_[i] = static_cast<float>(i) * 0.5F;
        }
        std::memcpy(host_.data(), values_.data(), bytes);
        device::copy(stream_, from(), host_.data(), bytes);
    }

    std::byte* from() const { return memory_.data(); }
    std::byte* to() const { return memory_.data() + bytes; }
    cudaStream_t stream() const { return device::cuda::handle_of(stream_); }
    ncclComm_t handle() const { return communicator_.handle(); }

    /// Waits until a call is in the stream, then compares its output with its input.
    void expect_copy(ncclResult_t result) {
        communicator_.check(result, "a call of a test");
        wait();
        device::copy(stream_, host_.data(), to(), bytes);
        stream_.finish();
        EXPECT_EQ(std::memcmp(host_.data(), values_.data(), bytes), 0);
    }

    void wait() const {
        while (!communicator_.is_ready("a call of a test")) {}
    }

    std::shared_ptr<device::Device> gpu_;
    device::Stream stream_{1};
    device::Arena host_{bytes, "the host's side of a test"};
    device::Arena memory_{0, "vectors of a test"};
    std::shared_ptr<void> pinned_;
    std::vector<float> values_ = std::vector<float>(count);
    NcclCommunicator communicator_{"alone"};
};

TEST_F(SingleNccl, Gathers) {
    expect_copy(nccl().ncclAllGather(from(), to(), count, ncclFloat32, handle(), stream()));
}

TEST_F(SingleNccl, Sums) {
    expect_copy(nccl().ncclAllReduce(from(), to(), count, ncclFloat32, ncclSum, handle(), stream()));
}

TEST_F(SingleNccl, ScattersSums) {
    expect_copy(nccl().ncclReduceScatter(from(), to(), count, ncclFloat32, ncclSum, handle(), stream()));
}

TEST_F(SingleNccl, SendsToItself) {
    communicator_.check(nccl().ncclGroupStart(), "a call of a test");
    nccl().ncclSend(from(), count, ncclFloat32, 0, handle(), stream());
    nccl().ncclRecv(to(), count, ncclFloat32, 0, handle(), stream());
    expect_copy(nccl().ncclGroupEnd());
}

TEST_F(SingleNccl, EndsWithWorkInItsStream) {
    communicator_.check(nccl().ncclAllReduce(from(), to(), count, ncclFloat32, ncclSum, handle(), stream()),
                        "a call of a test");
    wait();
    communicator_.abort();
    EXPECT_FALSE(communicator_.has_begun());
}

}  // namespace
}  // namespace ziggurat::comm
