#include "tests/support/device/test_stream.hpp"

#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "device/cuda.hpp"

namespace ziggurat::test {
namespace {

device::Stream make_stream(int num_threads) {
    if (!tests_on_cuda()) {
        return device::Stream{num_threads};
    }
    if constexpr (device::has_cuda) {
        static auto* const gpu = new std::shared_ptr<device::Device>{device::cuda::make_device(0, nullptr)};
        static auto* const stream = new device::Stream{(*gpu)->make_stream()};
        return *stream;
    }
    throw std::logic_error{"ZIGGURAT_TEST_DEVICE=cuda in a build without (ZIGGURAT_CUDA)"};
}

}  // namespace

bool tests_on_cuda() {
    const char* const asked = std::getenv("ZIGGURAT_TEST_DEVICE");
    return asked != nullptr && std::string_view{asked} == "cuda";
}

TestStream::TestStream(int num_threads) : stream_{make_stream(num_threads)} {}

TestStream::~TestStream() noexcept(false) {
    if (std::uncaught_exceptions() == 0) {
        stream_.finish();
    }
}

}  // namespace ziggurat::test
