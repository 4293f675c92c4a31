/// TestStream: stream for the kernels of a test.
#pragma once

#include "device/stream.hpp"

namespace ziggurat::test {

/// Returns true if ZIGGURAT_TEST_DEVICE is `cuda`: kernels of tests run on a GPU, or on its emulation.
///
/// Their arguments are nevertheless in host memory that these can access.
bool tests_on_cuda();

/// Skips the rest of a test whose kernel must fail: on a GPU that ends all work of the process.
#define ZG_SKIP_ON_CUDA()                                            \
    if (::ziggurat::test::tests_on_cuda()) {                         \
        GTEST_SKIP() << "a kernel that fails takes its GPU with it"; \
    }

/// Stream whose destructor waits for its work: at the end of the statement for a temporary.
class TestStream {
  public:
    /// \param num_threads  threads of the host's kernels
    explicit TestStream(int num_threads);
    ~TestStream() noexcept(false);
    TestStream(const TestStream&) = delete;
    TestStream& operator=(const TestStream&) = delete;

    operator const device::Stream&() const noexcept { return stream_; }

  private:
    device::Stream stream_;
};

/// Returns a stream with the number of threads of the Runtime in a test's main.
inline TestStream test_stream() {
    return TestStream{2};
}

}  // namespace ziggurat::test
