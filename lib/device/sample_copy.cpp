#include "device/sample_copy.hpp"

#include "base/contract.hpp"
#include "device/copy.hpp"

namespace ziggurat::device {

SampleCopy::SampleCopy(Device& device, std::int64_t bytes)
    : stream_{device.make_stream()},
      on_device_{device.reserve(bytes, "copies to be timed", Arena::Kind::own)},
      on_host_{bytes, "copies to be timed"},
      pinned_{device.pin(on_host_)} {}

void SampleCopy::start(bool to_device, std::int64_t bytes) const {
    ZG_EXPECTS(bytes <= on_device_.bytes() && bytes <= on_host_.bytes());
    const auto& to = to_device ? on_device_ : on_host_;
    const auto& from = to_device ? on_host_ : on_device_;
    copy(stream_, to.data(), from.data(), bytes);
}

}  // namespace ziggurat::device
