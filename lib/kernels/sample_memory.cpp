#include "kernels/sample_memory.hpp"

#include "base/exact_sum.hpp"
#include "kernels/adamw.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/gradient_norm.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

using device::Arena;

/// Bytes of a parameter's master, gradient and moments in fp32, and of its value in bf16.
constexpr std::int64_t bytes_of_parameter = 18;
constexpr std::int64_t bytes_of_sum = 4096;

template <class T>
VectorAddress<T> vector_at(const Arena& memory, std::int64_t offset, std::int64_t elements) {
    return VectorAddress<T>::at(memory.data() + offset, {elements});
}

}  // namespace

SampleCopies::SampleCopies(device::Device& device, std::int64_t bytes)
    : stream_{device.make_stream()}, memory_{device.reserve(2 * bytes, "timed copies", Arena::Kind::own)} {
    copy(true);  // pages that were never written are one page of zeros
}

SampleCopies::SampleCopies(const device::Stream& host, std::int64_t bytes)
    : stream_{host}, memory_{2 * bytes, "timed copies"} {
    copy(true);
}

void SampleCopies::start() const {
    copy(false);
}

void SampleCopies::copy(bool is_back) const {
    const auto bytes = memory_.bytes() / 2;
    const auto first = vector_at<std::byte>(memory_, 0, bytes);
    const auto second = vector_at<std::byte>(memory_, bytes, bytes);
    if (is_back) {
        copy_bytes(stream_, first, second);
    } else {
        copy_bytes(stream_, second, first);
    }
}

SampleUpdates::SampleUpdates(const device::Stream& host, std::int64_t parameters)
    : stream_{host}, parameters_{parameters}, memory_{parameters * bytes_of_parameter, "timed updates"} {
    fill_zero<float>(stream_, vector_at<float>(memory_, 4 * parameters, parameters));  // touches its pages
}

void SampleUpdates::start() const {
    const auto floats = [&](std::int64_t position) {
        return vector_at<float>(memory_, 4 * parameters_ * position, parameters_);
    };
    StepInputs inputs;
    inputs.learning_rate = 1e-4F;
    adamw_update<tensor::bfloat16, float>(
        stream_, {}, 0.1F, 1, &inputs, floats(0), floats(1), floats(2), floats(3),
        vector_at<tensor::bfloat16>(memory_, 16 * parameters_, parameters_));
}

SampleSquares::SampleSquares(device::Device& device, std::int64_t bytes)
    : stream_{device.make_stream()},
      bytes_{bytes},
      memory_{device.reserve(bytes + bytes_of_sum, "timed norms of gradients", Arena::Kind::own)} {
    fill_zero<float>(stream_, vector_at<float>(memory_, 0, bytes_ / 4));  // touches its pages
}

void SampleSquares::start() const {
    sum_of_squares<float>(stream_, vector_at<float>(memory_, 0, bytes_ / 4),
                          vector_at<ExactSum>(memory_, bytes_, 1).only());
}

}  // namespace ziggurat::kernels
