#include "tests/support/device/test_processors.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "device/cuda.hpp"
#include "device/emulated/emulated_device.hpp"

namespace ziggurat::test {
namespace {

enum class TestDevice { host, emulated_threads, emulated_polled, cuda };

TestDevice asked_device() {
    const char* text = std::getenv("ZIGGURAT_TEST_DEVICE");
    const std::string name = text == nullptr ? "host" : text;
    if (name == "host") {
        return TestDevice::host;
    }
    if (name == "emulated_threads") {
        return TestDevice::emulated_threads;
    }
    if (name == "emulated_polled") {
        return TestDevice::emulated_polled;
    }
    if (name == "cuda" && device::has_cuda) {
        return TestDevice::cuda;
    }
    throw std::invalid_argument{"ZIGGURAT_TEST_DEVICE=" + name +
                                ": there are host, emulated_threads and emulated_polled" +
                                (device::has_cuda ? " and cuda" : "; this build has no cuda")};
}

TestKernels* the_kernels = nullptr;
int num_on_host = 0;

}  // namespace

TestKernels::TestKernels(int num_threads, std::uint64_t seed) : seed_{seed} {
    const auto asked = asked_device();
    if (asked == TestDevice::emulated_threads || asked == TestDevice::cuda) {
        thread_ = std::make_unique<device::HostThread>();
        runtime_.emplace(num_threads, *thread_);
    } else {
        runtime_.emplace(num_threads);
    }
    the_kernels = this;
}

TestKernels::~TestKernels() {
    the_kernels = nullptr;
}

device::RankDevices processors_for_tests(int num_threads) {
    const auto asked = asked_device();
    if (the_kernels == nullptr) {
        return device::RankDevices::of_host(num_threads);
    }
    auto* const thread = the_kernels->thread_.get();
    if constexpr (device::has_cuda) {
        if (asked == TestDevice::cuda) {
            return {device::cuda::make_device(0, nullptr), device::Stream{num_threads, thread}};
        }
    }
    if (asked == TestDevice::host || num_on_host > 0) {
        return {device::make_host(num_threads, thread), device::Stream{num_threads, thread}};
    }
    using Mode = device::EmulatedDevice::Mode;
    return {std::make_shared<device::EmulatedDevice>(
                device::EmulatedDevice::Options{.mode = thread != nullptr ? Mode::threads : Mode::polled,
                                                .seed = the_kernels->seed_++,
                                                .num_threads = num_threads,
                                                .thread = thread}),
            device::Stream{num_threads, thread}};
}

device::RankDevices host_processors_for_tests(int num_threads) {
    auto* const thread = the_kernels == nullptr ? nullptr : the_kernels->thread_.get();
    return {device::make_host(num_threads, thread), device::Stream{num_threads, thread}};
}

spec::DeviceKind device_kind_for_tests() {
    return asked_device() == TestDevice::cuda ? spec::DeviceKind::cuda : spec::DeviceKind::host;
}

bool tests_on_emulated_device() {
    const auto asked = asked_device();
    return asked == TestDevice::emulated_threads || asked == TestDevice::emulated_polled;
}

OnHost::OnHost() noexcept {
    ++num_on_host;
}

OnHost::~OnHost() {
    --num_on_host;
}

}  // namespace ziggurat::test
