#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "app/bench/machine_file.hpp"
#include "app/bench/measure_options.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/units.hpp"
#include "device/cuda.hpp"
#include "device/discovery.hpp"
#include "device/sample_copy.hpp"
#include "kernels/sample_product.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::app {
namespace {

constexpr double giga = 1e9;
constexpr double mega = 1e6;
/// Minimum duration of a measurement, in seconds.
constexpr double enough_s = 0.05;
constexpr std::int64_t widest_product = 8192;
constexpr std::int64_t first_product = 256;
constexpr std::int64_t first_copy = std::int64_t{1} << 20;
constexpr std::int64_t largest_copy = std::int64_t{256} << 20;

double seconds_since(std::int64_t begin_ns) {
    return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
}

std::vector<std::shared_ptr<device::Device>> all_gpus(int count) {
    std::vector<std::shared_ptr<device::Device>> gpus;
    if constexpr (device::has_cuda) {
        for (int i = 0; i < count; ++i) {
            gpus.push_back(device::cuda::make_device(i, nullptr));
        }
    }
    return gpus;
}

/// Measures bytes per second of each GPU while all copy.
/// The size doubles until a copy takes `enough_s`.
double copy_rate(const std::vector<std::unique_ptr<device::SampleCopy>>& links, bool to_device) {
    for (std::int64_t bytes = first_copy;; bytes *= 2) {
        const auto begin = monotonic_ns();
        for (const auto& link : links) {
            link->start(to_device, bytes);
        }
        for (const auto& link : links) {
            link->finish();
        }
        const double seconds = seconds_since(begin);
        if (seconds >= enough_s || bytes == largest_copy) {
            return static_cast<double>(bytes) / seconds;
        }
    }
}

/// Measures FLOP/s of bfloat16 products. The size doubles until a product takes `enough_s`.
double product_rate(device::Device& device) {
    for (std::int64_t width = first_product;; width *= 2) {
        kernels::SampleProduct<tensor::bfloat16> product{device, width, width};
        product.run();  // selects and loads the kernel
        const auto begin = monotonic_ns();
        product.run();
        const double seconds = seconds_since(begin);
        if (seconds >= enough_s || width == widest_product) {
            return product.flops() / seconds;
        }
    }
}

}  // namespace

int bench_gpu(const BenchOptions& options) {
    const auto found = device::discover();
    if (found.count == 0) {
        throw Error{ErrorKind::resource,
                    fmt::format("there is no GPU to measure ({}). Run on a node with GPUs.",
                                found.unavailable_reason)};
    }
    const MachineFile file{options.machine_file};
    auto machine = file.machine();
    const auto gpus = all_gpus(found.count);
    std::vector<std::unique_ptr<device::SampleCopy>> links;
    double slowest = INFINITY;
    for (const auto& gpu : gpus) {
        slowest = std::min(slowest, product_rate(*gpu));
        links.push_back(std::make_unique<device::SampleCopy>(*gpu, largest_copy));
    }
    const double up = copy_rate(links, true);
    const double down = copy_rate(links, false);
    fmt::print(
        "{} GPU{} of {}: bfloat16 products {}FLOP/s, host to device {:.2f} GB/s, device to host {:.2f} "
        "GB/s{}\n",
        found.count, found.count == 1 ? "" : "s", format_bytes(found.bytes), format_count(slowest), up / giga,
        down / giga, found.count == 1 ? "" : ", all at once");
    machine.has_device = true;
    machine.ranks_per_node = found.count;
    machine.device_bytes = found.bytes;
    machine.device_flops = slowest;
    machine.host_to_device_rate = std::ceil(up / mega) * mega;
    machine.device_to_host_rate = std::ceil(down / mega) * mega;
    file.keep(machine);
    return 0;
}

}  // namespace ziggurat::app
