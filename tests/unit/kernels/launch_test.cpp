#include "kernels/launch/launch.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/error.hpp"
#include "device/emulated/emulated_device.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear_products.hpp"

namespace ziggurat::kernels {
namespace {

TEST(Launch, RefusesMemoryThatIsNotTheDevicesOrNotAllOfIt) {
    device::EmulatedDevice device{{}};
    const auto stream = device.make_stream();
    const auto arena = device.reserve(4096, "a short arena", device::Arena::Kind::own);
    std::vector<float> own(8);
    EXPECT_THROW(fill_zero<float>(stream, own), Error);

    const auto size = arena.bytes() / static_cast<std::int64_t>(sizeof(float));
    EXPECT_NO_THROW(fill_zero<float>(stream, VectorAddress<float>::at(arena.data(), {size})));
    EXPECT_THROW(fill_zero<float>(stream, VectorAddress<float>::at(arena.data(), {size + 1})), Error);
    EXPECT_NO_THROW(fill_zero<float>(stream, {}));
}

struct WithAnAddress {
    const float* values;
};
static_assert(!std::is_invocable_v<ArgumentTranslator, WithAnAddress>, "nobody has said what to do with it");
static_assert(!std::is_invocable_v<ArgumentTranslator, float*>,
              "an address is of a type that says where it may be used");
static_assert(!std::is_invocable_v<ArgumentTranslator, Dropout*>);
static_assert(!std::is_invocable_v<ArgumentTranslator, std::span<float>>);

TEST(Launch, LeavesWhatIsNotThere) {
    device::EmulatedDevice device{{}};
    const auto stream = device.make_stream();
    const ArgumentTranslator reachable{static_cast<device::AsyncQueue&>(stream.queue())};
    EXPECT_EQ(reachable(ObjectAddress<const StepInputs>{}).first, nullptr);
    EXPECT_EQ(reachable(VectorAddress<float>{}).first, nullptr);
    const tensor::TensorRef<float, 2> frozen = reachable(TensorAddress<float, 2>{nullptr, {0, 7}});
    EXPECT_EQ(frozen.data, nullptr);
    EXPECT_EQ(frozen.extent(1), 7);
    EXPECT_EQ(reachable(Dropout{}).samples, nullptr);
}

/// Products that record the calling thread.
struct NotingProducts final : host::HostProducts<float> {
    std::thread::id* asked_by;

    explicit NotingProducts(std::thread::id& id) : asked_by{&id} {}
    std::int64_t packed_bytes(Packing) const noexcept override { return 0; }
    std::int64_t scratch_bytes() const noexcept override { return 0; }
    std::int64_t weight_scratch_bytes() const noexcept override { return 0; }
    void pack(Packing, const float*, std::byte*) const override { *asked_by = std::this_thread::get_id(); }
    void forward(const float*, const std::byte*, const float*, float*, std::byte*) const override {}
    void backward_input(const float*, const std::byte*, float*, std::byte*) const override {}
    void backward_input_sum(const float*, const std::byte*, float*, Accumulate, std::byte*) const override {}
    void backward_weight(const float*, const float*, float*, Accumulate, std::byte*) const override {}
};

TEST(Launch, CallsTheHostsKernelsOnTheThreadOfTheStream) {
    device::HostThread thread;
    std::thread::id expected, got;
    thread.run([&] { expected = std::this_thread::get_id(); });
    const NotingProducts products{got};
    const PreparedArgument<LinearProducts<float>> prepared{&products};
    pack_weight<float>(device::Stream{1, &thread}, prepared, Packing::forward, {}, {});
    EXPECT_EQ(got, expected);

    pack_weight<float>(device::Stream{1}, prepared, Packing::forward, {}, {});
    EXPECT_EQ(got, std::this_thread::get_id());
}

}  // namespace
}  // namespace ziggurat::kernels
