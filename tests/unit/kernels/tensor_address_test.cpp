/// Addresses of device memory: prevented accesses, and slicing.
#include "kernels/launch/tensor_address.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "kernels/launch/step_inputs.hpp"

namespace ziggurat::kernels {
namespace {

template <class A>
concept CanBeRead = requires(A address) {
    *address;
}
|| requires(A address) {
    address[0];
}
|| requires(A address) {
    address.data();
}
|| requires(A address) {
    address.begin();
}
|| std::ranges::range<A> || requires(A address) {
    address.row(0);
};
static_assert(CanBeRead<std::span<float>>);
static_assert(!CanBeRead<VectorAddress<float>>);
static_assert(!CanBeRead<TensorAddress<const float, 2>>);
static_assert(!CanBeRead<ObjectAddress<const StepInputs>>);
static_assert(!std::is_convertible_v<ObjectAddress<const StepInputs>, const StepInputs*>);
static_assert(!std::is_convertible_v<VectorAddress<float>, std::span<const float>>);
static_assert(!std::is_convertible_v<TensorAddress<float, 2>, tensor::TensorRef<const float, 2>>);
static_assert(!std::is_convertible_v<VectorAddress<const float>, VectorAddress<float>>);
static_assert(!std::is_constructible_v<VectorAddress<float>, const std::vector<float>&>);

struct WithAnAddress {
    const float* values;
};
static_assert(std::is_trivially_copyable_v<WithAnAddress> && !Element<WithAnAddress>);
static_assert(!Element<float*> && !Element<Dropout> && !Element<DropoutView>);

TEST(TensorAddress, IsCutAsItsExtentsSay) {
    std::vector<float> host(12);
    const VectorAddress<float> vector{host};
    EXPECT_EQ(vector.size(), 12);
    const auto matrix = vector.reshaped<2>({3, 4});
    EXPECT_EQ(matrix.extent(1), 4);
    EXPECT_EQ(matrix.flat().extents(), vector.extents());
    EXPECT_THROW(vector.reshaped<2>({3, 5}), Error);

    const auto part = vector.part(5, 7);
    EXPECT_EQ(part.size(), 7);
    EXPECT_EQ(part.number() - vector.number(), 5 * sizeof(float));
    EXPECT_THROW(vector.part(5, 8), Error);
    EXPECT_THROW(vector.part(-1, 2), Error);
    EXPECT_THROW(vector.only(), Error);
    EXPECT_EQ(vector.part(11, 1).only().number(), part.part(6, 1).number());
}

TEST(TensorAddress, OfBytesIsAMatrixOfWhatFits) {
    std::vector<std::byte> host(64);
    const VectorAddress<std::byte> bytes{host};
    EXPECT_EQ(bytes.matrix_of<float>(4, 4).size(), 16);
    EXPECT_THROW(bytes.matrix_of<float>(4, 5), Error);
}

TEST(TensorAddress, IsEmptyWhereThereIsNothing) {
    EXPECT_TRUE(VectorAddress<float>{}.empty());
    EXPECT_TRUE(ObjectAddress<StepInputs>{}.empty());
    StepInputs inputs;
    EXPECT_FALSE(ObjectAddress<const StepInputs>{&inputs}.empty());
    EXPECT_TRUE((TensorAddress<float, 2>{nullptr, {0, 7}}.empty()));
}

}  // namespace
}  // namespace ziggurat::kernels
