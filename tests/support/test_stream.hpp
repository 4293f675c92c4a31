/// TestStream: what the kernels of a test run on.
#pragma once

#include "device/stream.hpp"

namespace ziggurat::test {

/// Whether the environment's ZIGGURAT_TEST_DEVICE says `cuda`: kernels of tests run on a GPU, or on what a
/// build has in its place. Their arguments lie in the host's memory nevertheless, which these reach.
bool tests_on_cuda();

/// Leaves out the rest of a test whose kernel is to fail: on a GPU that is the end of all work of the
/// process.
#define ZG_SKIP_ON_CUDA()                                            \
    if (::ziggurat::test::tests_on_cuda()) {                         \
        GTEST_SKIP() << "a kernel that fails takes its GPU with it"; \
    }

/// Work that it was given is done when its life ends: at the end of the statement, for a temporary.
class TestStream {
  public:
    /// \param num_threads  of the host's kernels
    explicit TestStream(int num_threads);
    ~TestStream() noexcept(false);
    TestStream(const TestStream&) = delete;
    TestStream& operator=(const TestStream&) = delete;

    operator const device::Stream&() const noexcept { return stream_; }

  private:
    device::Stream stream_;
};

/// Of as many threads as the Runtime of a test's main.
inline TestStream test_stream() {
    return TestStream{2};
}

}  // namespace ziggurat::test
