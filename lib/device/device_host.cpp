#include "device/device.hpp"

namespace ziggurat::device {
namespace {

class Host final : public Device {
  public:
    explicit Host(const Stream& stream) : stream_{stream} {}
    Arena reserve(std::int64_t bytes, const char* purpose, Arena::Kind kind) override {
        return {bytes, purpose, kind};
    }
    Stream make_stream() override { return stream_; }

  private:
    Stream stream_;
};

}  // namespace

std::shared_ptr<Device> make_host(int num_threads, HostThread* thread) {
    return std::make_shared<Host>(Stream{num_threads, thread});
}

}  // namespace ziggurat::device
