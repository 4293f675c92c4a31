#include "device/copy.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/map_cuda.hpp"
#include "kernels/elementwise.hpp"

namespace ziggurat::kernels::cuda {
namespace {

struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

struct Times {
    float factor;
    __device__ float operator()(float a) const { return factor * a; }
};

struct Same {
    __device__ float operator()(float a) const { return a; }
};

}  // namespace

template <class T>
void fill_zero(const device::Stream& stream, std::span<T> values) {
    map(stream, "fill_zero", Zero{}, static_cast<std::int64_t>(values.size()), values.data());
}

template <class To>
void add_to(const device::Stream& stream, std::span<const float> x, std::span<To> into) {
    map(stream, "add_to", Sum{}, static_cast<std::int64_t>(into.size()), into.data(),
        static_cast<const To*>(into.data()), x.data());
}

template <class T>
void scale(const device::Stream& stream, float factor, std::span<T> values) {
    map(stream, "scale", Times{factor}, static_cast<std::int64_t>(values.size()), values.data(),
        static_cast<const T*>(values.data()));
}

template <class From, class To>
void convert(const device::Stream& stream, std::span<const From> from, std::span<To> to) {
    map(stream, "convert", Same{}, static_cast<std::int64_t>(to.size()), to.data(), from.data());
}

void copy_bytes(const device::Stream& stream, std::span<std::byte> to, std::span<const std::byte> from) {
    device::copy(stream, to.data(), from.data(), static_cast<std::int64_t>(to.size()));
}

ZG_REGISTER_CUDA_KERNEL(fill_zero<float>);
ZG_REGISTER_CUDA_KERNEL(fill_zero<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(add_to<float>);
ZG_REGISTER_CUDA_KERNEL(add_to<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(scale<float>);
ZG_REGISTER_CUDA_KERNEL(scale<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(convert<float, float>);
ZG_REGISTER_CUDA_KERNEL(convert<float, tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(convert<tensor::bfloat16, float>);
ZG_REGISTER_CUDA_KERNEL(convert<tensor::bfloat16, tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(copy_bytes);

}  // namespace ziggurat::kernels::cuda
