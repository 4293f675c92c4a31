#include "app/bench/measure_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <vector>

#include "app/bench/rate_samples.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/control.hpp"
#include "comm/watch/liveness.hpp"
#include "kernels/sample_product.hpp"
#include "storage/io_sweep.hpp"
#include "storage/numa_local_folders.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::app {
namespace {

/// Returns the shortest of several timings of `work`.
///
/// The first ones touch memory and wake the processor.
double min_seconds(const std::function<void()>& work) {
    constexpr int runs = 6;
    double min = 1e9;
    for (int run = 0; run < runs; ++run) {
        const auto begin = monotonic_ns();
        work();
        min = std::min(min, seconds_between(begin, monotonic_ns()));
    }
    return std::max(min, 1e-9);
}

/// Shape of a product with `rows` inputs and a square weight.
struct ProductShape {
    std::int64_t rows, width;
};
/// Shape of products in the layers of a small model.
constexpr ProductShape small_product{256, 512};
/// Shape for the peak of a CPU: large enough to approach the peak, short enough to be rarely preempted.
constexpr ProductShape peak_product{128, 1024};
/// Shapes for the peak of a GPU, in the order of their sizes.
///
/// A GPU reaches its peak if a product takes much longer than its launch. An emulated
/// GPU uses the first shape.
constexpr std::array gpu_peak_products{ProductShape{512, 1024}, ProductShape{2048, 2048},
                                       ProductShape{4096, 4096}, ProductShape{8192, 8192}};
constexpr double long_product_s = 5e-4;
constexpr double peak_timeout_s = 0.1;

template <class T>
double seconds_of_flop(device::Device& device) {
    const kernels::SampleProduct<T> product{device, small_product.rows, small_product.width};
    return min_seconds([&] { product.run(); }) / product.flops();
}

double seconds_of_flop(spec::DType type, device::Device& device) {
    return type == spec::DType::bf16 ? seconds_of_flop<tensor::bfloat16>(device)
                                     : seconds_of_flop<float>(device);
}

/// Returns the first shape whose product takes long enough to show the peak of a GPU.
template <class T>
ProductShape choose_gpu_peak_product(device::Device& device) {
    for (const auto& shape : gpu_peak_products) {
        const kernels::SampleProduct<T> product{device, shape.rows, shape.width};
        if (min_seconds([&] { product.run(); }) >= long_product_s) {
            return shape;
        }
    }
    return gpu_peak_products.back();
}

/// Returns FLOP/s of the fastest sample.
template <class T>
double best_rate(device::Device& device, spec::DeviceKind kind, double known) {
    const auto shape = kind == spec::DeviceKind::cuda ? choose_gpu_peak_product<T>(device) : peak_product;
    const kernels::SampleProduct<T> product{device, shape.rows, shape.width};
    RateSamples samples{product.flops(), known, peak_timeout_s};
    while (samples.wants_more()) {
        const auto begin = monotonic_ns();
        product.run();
        samples.add(seconds_between(begin, monotonic_ns()));
    }
    return samples.best();
}

double seconds_of_copied_byte() {
    constexpr std::size_t size = std::size_t{8} << 20;
    const std::vector<std::byte> from(size, std::byte{1});
    std::vector<std::byte> to(size);
    return min_seconds([&] { std::memcpy(to.data(), from.data(), size); }) / static_cast<double>(size);
}

/// Returns seconds per byte of reads and of writes.
///
/// Infinity if the disks cannot be used; 0 (unknown) if the folders do not exist under these names.
std::array<double, 2> seconds_of_disk_byte(const RatesToMeasure& wanted) {
    constexpr std::array never{std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::infinity()};
    constexpr std::array unknown{0.0, 0.0};
    std::error_code unused;
    if (!std::ranges::all_of(wanted.folders, [&](const std::string& folder) {
            return std::filesystem::is_directory(folder, unused);
        })) {
        return unknown;
    }
    try {
        const auto folders = wanted.is_near ? storage::near_folders(wanted.folders).folders : wanted.folders;
        const auto found = storage::probe(folders, wanted.block_bytes, wanted.queue_depth);
        return {1 / found.read_rate, 1 / found.write_rate};
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::resource) {
            throw;
        }
        return never;
    }
}

}  // namespace

std::optional<RatesToMeasure> agree_to_measure(const comm::Context& world,
                                               const std::optional<RatesToMeasure>& wanted) {
    std::array<std::int64_t, 6> values{};
    if (world.rank() == 0 && wanted) {
        values = {wanted->threads,     wanted->type == spec::DType::bf16,
                  wanted->is_near,     wanted->block_bytes,
                  wanted->queue_depth, std::ssize(wanted->folders)};
    }
    comm::all_reduce_max(world, values);
    if (values[0] == 0) {
        return std::nullopt;
    }
    RatesToMeasure agreed{.type = values[1] != 0 ? spec::DType::bf16 : spec::DType::f32,
                          .threads = static_cast<int>(values[0]),
                          .is_near = values[2] != 0,
                          .block_bytes = values[3],
                          .queue_depth = static_cast<int>(values[4])};
    for (std::size_t i = 0; i < static_cast<std::size_t>(values[5]); ++i) {
        agreed.folders.push_back(comm::broadcast(world, world.rank() == 0 ? wanted->folders[i] : ""));
    }
    return agreed;
}

MeasuredRates measure_rates(const comm::Context& world, const RatesToMeasure& wanted) {
    comm::barrier(world);
    const double flop = seconds_of_flop(wanted.type, *device::make_host(wanted.threads));
    std::array<double, 4> slowest{flop, seconds_of_copied_byte()};
    if (!wanted.folders.empty()) {
        comm::barrier(world);  // ranks that still compute would slow down the disks
        world.liveness()->begin_activity("measuring disks", monotonic_ns());
        std::ranges::copy(seconds_of_disk_byte(wanted), slowest.begin() + 2);
    }
    comm::all_reduce_max(world, slowest);
    const auto rate = [](double seconds) { return seconds > 0 ? 1 / seconds : 0; };
    return {.flops = rate(slowest[0]),
            .copy = rate(slowest[1]),
            .nvme_read = rate(slowest[2]),
            .nvme_write = rate(slowest[3])};
}

train::Peak find_peak(const comm::Context& world,
                      const spec::RunSpec& run,
                      device::Device& device,
                      double given_flops,
                      const PeakCache& known) {
    const auto setup = setup_name(run);
    std::array<double, 2> of_first{};  // given, known
    if (world.rank() == 0) {
        of_first = {given_flops, known.of(setup)};
    }
    comm::all_reduce_max(world, of_first);
    const auto [given, best] = of_first;
    if (given > 0) {
        return {given, "given by the machine file"};
    }
    comm::barrier(world);
    constexpr double unit = 1e6;
    const double mine = run.precision.compute == spec::DType::bf16
                            ? best_rate<tensor::bfloat16>(device, run.tiers.device, best)
                            : best_rate<float>(device, run.tiers.device, best);
    std::array<std::int64_t, 1> all{std::llround(mine / unit)};
    comm::all_reduce_sum(world, all);
    const double now = unit * static_cast<double>(all[0]) / world.size();
    if (now < best) {
        return {best, fmt::format("measured at an earlier start, all ranks at once; {:.1f} at this one",
                                  now * 1e-9)};
    }
    if (world.rank() == 0) {
        known.raise(setup, now);
    }
    return {now, "measured at the start, all ranks at once"};
}

spec::MachineSpec with_rates(spec::MachineSpec machine, const MeasuredRates& rates, int ranks_per_node) {
    const auto fill = [](double& known, double measured) { known = known > 0 ? known : measured; };
    fill(machine.nvme_read_rate, rates.nvme_read * ranks_per_node);
    fill(machine.nvme_write_rate, rates.nvme_write * ranks_per_node);
    fill(machine.device_flops, rates.flops);
    fill(machine.host_to_device_rate, rates.copy);
    fill(machine.device_to_host_rate, rates.copy);
    return machine;
}

}  // namespace ziggurat::app
