#include "app/measure_rates.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "comm/control.hpp"
#include "kernels/linear.hpp"
#include "tensor/bfloat16.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::app {
namespace {

/// A run of `work` when nothing disturbs it: the first of these touch memory and wake the processor.
double least_seconds(const std::function<void()>& work) {
    constexpr int runs = 6;
    double least = 1e9;
    for (int run = 0; run < runs; ++run) {
        const auto begin = monotonic_ns();
        work();
        least = std::min(least, seconds_between(begin, monotonic_ns()));
    }
    return std::max(least, 1e-9);
}

template <class T>
double seconds_of_flop(int threads) {
    constexpr std::int64_t rows = 256, width = 512;
    const kernels::Linear<T> linear{{rows, width, width, false}, threads};
    const device::Stream stream{threads};
    const std::vector<T> x(rows * width, T{1.0F}), w(width * width, T{1.0F});
    std::vector<T> y(rows * width);
    std::vector<std::byte> workspace(static_cast<std::size_t>(linear.workspace_bytes()));
    const auto seconds = least_seconds([&] {
        linear.forward(stream, {x.data(), {rows, width}}, {w.data(), {width, width}}, {},
                       {y.data(), {rows, width}}, workspace);
    });
    return seconds / (2.0 * rows * width * width);
}

double seconds_of_copied_byte() {
    constexpr std::size_t size = std::size_t{8} << 20;
    const std::vector<std::byte> from(size, std::byte{1});
    std::vector<std::byte> to(size);
    return least_seconds([&] { std::memcpy(to.data(), from.data(), size); }) / static_cast<double>(size);
}

}  // namespace

MeasuredRates measure_rates(const comm::Communicator& world, spec::DType type, int threads) {
    comm::barrier(world);
    std::array<double, 2> slowest{type == spec::DType::bf16 ? seconds_of_flop<tensor::bfloat16>(threads)
                                                            : seconds_of_flop<float>(threads),
                                  seconds_of_copied_byte()};
    comm::all_reduce_max(world, slowest);
    return {.flops = 1 / slowest[0], .copy = 1 / slowest[1]};
}

spec::MachineSpec with_rates(spec::MachineSpec machine, const MeasuredRates& rates) {
    const auto fill = [](double& known, double measured) { known = known > 0 ? known : measured; };
    fill(machine.device_flops, rates.flops);
    fill(machine.host_to_device_rate, rates.copy);
    fill(machine.device_to_host_rate, rates.copy);
    return machine;
}

}  // namespace ziggurat::app
