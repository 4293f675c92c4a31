#include <gtest/gtest.h>

#include "kernels/host/attention_impl.hpp"
#include "kernels/launch/launch.hpp"
#include "kernels/tile/portable.hpp"
#include "tests/unit/kernels/attention_checks.hpp"

namespace ziggurat::kernels {
namespace {

/// Attention as computed on machines without AVX-512.
template <class T>
class PortableAttentionTest : public ::testing::Test {
  protected:
    test::Attention<T> attention{[](const device::Stream& stream, auto&&... arguments) {
                                     host::tiled_attention_forward<tile::Portable, T>(
                                         stream.num_threads(), ArgumentTranslator{}(arguments)...);
                                 },
                                 [](const device::Stream& stream, auto&&... arguments) {
                                     host::tiled_attention_backward<tile::Portable, T>(
                                         stream.num_threads(), ArgumentTranslator{}(arguments)...);
                                 }};
};
using ComputeTypes = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(PortableAttentionTest, ComputeTypes);

TYPED_TEST(PortableAttentionTest, IsTheSoftmaxOfTheReferenceAndItsGradient) {
    test::expect_reference(this->attention);
}

TYPED_TEST(PortableAttentionTest, HasTheSameBitsForAnyNumberOfThreads) {
    test::expect_same_bits_for_any_threads(
        this->attention, {.shape = {3, 133, 6, 3, 40}, .document = 50, .probability = 0.2f});
}

}  // namespace
}  // namespace ziggurat::kernels
