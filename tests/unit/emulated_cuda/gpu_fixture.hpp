/// A stream and memory of an emulated GPU, for tests.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/emulated_cuda/settings.hpp"

namespace ziggurat::test {

class EmulatedGpu : public testing::Test {
  protected:
    EmulatedGpu() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess); }
    ~EmulatedGpu() override {
        emulated_cuda::set_faults("");
        cudaStreamDestroy(stream);
        cudaDeviceReset();
        cudaGetLastError();
    }

    template <class... Parameters, class... Arguments>
    cudaError_t launch(unsigned blocks,
                       unsigned threads,
                       void (*kernel)(Parameters...),
                       Arguments... arguments) {
        cudaLaunchConfig_t config{};
        config.gridDim = blocks;
        config.blockDim = threads;
        config.stream = stream;
        return cudaLaunchKernelEx(&config, kernel, arguments...);
    }
    /// Returns the result of the stream, and its error text.
    std::string outcome() {
        const auto error = cudaStreamSynchronize(stream);
        return std::string{cudaGetErrorName(error)} + ": " + cudaGetErrorString(error);
    }
    int* reserve(int count) {
        int* memory = nullptr;
        EXPECT_EQ(cudaMalloc(&memory, static_cast<std::size_t>(count) * sizeof(int)), cudaSuccess);
        return memory;
    }

    cudaStream_t stream = nullptr;
};

/// Pinned host memory, which copies of a GPU accept.
class PinnedInts {
  public:
    explicit PinnedInts(std::size_t count) : values_(count, -1) {
        EXPECT_EQ(cudaHostRegister(values_.data(), bytes(), cudaHostRegisterPortable), cudaSuccess);
    }
    ~PinnedInts() { cudaHostUnregister(values_.data()); }
    PinnedInts(const PinnedInts&) = delete;
    PinnedInts& operator=(const PinnedInts&) = delete;

    std::size_t bytes() const { return values_.size() * sizeof(int); }
    int* data() { return values_.data(); }
    int& operator[](std::size_t i) { return values_[i]; }

  private:
    std::vector<int> values_;
};

}  // namespace ziggurat::test
