/// Timed copies on a device whose memory the host must not access.
#include "device/sample_copy.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "device/emulated/emulated_device.hpp"

namespace ziggurat::device {
namespace {

TEST(SampleCopy, GoesBothWaysAndNoFurtherThanItsMemory) {
    EmulatedDevice device{{}};
    constexpr std::int64_t bytes = std::int64_t{2} << 20;
    const SampleCopy sample{device, bytes};
    for (const bool to_device : {true, false}) {
        sample.start(to_device, bytes);
        sample.finish();
        EXPECT_THROW(sample.start(to_device, 2 * bytes), Error);
    }
}

}  // namespace
}  // namespace ziggurat::device
