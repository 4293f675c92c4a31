/// Calls other than a stream's finish() that may wait for a GPU: each wait is reported.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "device/cuda.hpp"

namespace ziggurat::device {
namespace {

class Log final : public WaitObserver {
  public:
    void wait_begin(std::string_view what) noexcept override {
        text += std::string{what} + "; ";
        ++in_flight;
    }
    void wait_end() noexcept override { --in_flight; }
    /// Returns the reports since the last call.
    std::string received() { return std::exchange(text, ""); }

    std::string text;
    int in_flight = 0;
};

TEST(WatchedGpu, TellsOfItsWaits) {
    Log log;
    {
        const Arena host{4096, "a test's host arena"};
        const auto gpu = cuda::make_device(0, &log);
        EXPECT_EQ(log.received(), "its GPU to be made ready; ");
        {
            const auto arena = gpu->reserve(4096, "a test's arena", Arena::Kind::own);
            EXPECT_EQ(log.received(), "its GPU to reserve memory; ");
            const auto pinned = gpu->pin(host);
            EXPECT_EQ(log.received(), "its GPU to pin memory; ");
            const auto stream = gpu->make_stream();
            EXPECT_EQ(log.received(), "");
        }
        EXPECT_EQ(log.received(), "the work of its device; its GPU to free memory; ");
    }
    EXPECT_EQ(log.in_flight, 0);
    cudaDeviceReset();
}

}  // namespace
}  // namespace ziggurat::device
