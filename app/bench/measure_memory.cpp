#include "app/bench/measure_memory.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "app/bench/timed_rounds.hpp"
#include "base/exact_sum.hpp"
#include "device/copy.hpp"
#include "device/sample_copy.hpp"
#include "kernels/adamw.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/gradient_norm.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::app {
namespace {

using device::Arena;
using kernels::VectorAddress;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

RoundLimits limits_for(bool is_brief) {
    return is_brief ? RoundLimits{.round_s = 1e-3, .total_s = 5e-3}
                    : RoundLimits{.round_s = 2e-2, .total_s = 1};
}

/// Returns a size that exceeds the caches, which one rank copies.
std::int64_t copied_bytes(const BenchRanks& ranks, bool is_brief) {
    return is_brief ? 2 * mebibyte : ranks.has_gpu() ? 512 * mebibyte : 64 * mebibyte;
}

/// Returns the work per second of the slowest rank.
double rate_of(BenchRanks& ranks,
               double work,
               const std::function<void()>& call,
               const std::function<void()>& finish,
               bool is_brief) {
    const double seconds = usual_seconds(call, finish, limits_for(is_brief));
    return work / ranks.slowest({seconds}).front();
}

/// Returns the bytes/s that copies within `memory` read and write.
double copy_rate(BenchRanks& ranks, const device::Stream& stream, const Arena& memory, bool is_brief) {
    const auto bytes = memory.bytes() / 2;
    const auto first = VectorAddress<std::byte>::at(memory.data(), {bytes});
    const auto second = VectorAddress<std::byte>::at(memory.data() + bytes, {bytes});
    kernels::copy_bytes(stream, first, second);  // pages that were never written are one page of zeros
    return rate_of(
        ranks, 2.0 * static_cast<double>(bytes), [&] { kernels::copy_bytes(stream, second, first); },
        [&] { stream.finish(); }, is_brief);
}

/// Returns the parameters/s that AdamW updates in host memory.
double update_rate(BenchRanks& ranks, bool is_brief) {
    const std::int64_t parameters = is_brief ? mebibyte / 4 : 8 * mebibyte;
    const Arena memory{parameters * 18, "timed updates"};
    std::int64_t used = 0;
    const auto take = [&]<class T>(T) {
        const auto begin = used;
        used += parameters * static_cast<std::int64_t>(sizeof(T));
        return VectorAddress<T>::at(memory.data() + begin, {parameters});
    };
    const auto master = take(float{}), gradient = take(float{}), m = take(float{}), v = take(float{});
    const auto published = take(tensor::bfloat16{});
    const auto& stream = ranks.devices().host;
    kernels::fill_zero<float>(stream, gradient);  // touches its pages
    kernels::StepInputs inputs;
    inputs.learning_rate = 1e-4F;
    return rate_of(
        ranks, static_cast<double>(parameters),
        [&] {
            kernels::adamw_update<tensor::bfloat16, float>(stream, {}, 0.1F, 1, &inputs, master, gradient, m,
                                                           v, published);
        },
        [&] { stream.finish(); }, is_brief);
}

/// Returns the bytes/s of gradients whose squares the device sums.
double squares_rate(BenchRanks& ranks, bool is_brief) {
    auto& device = *ranks.devices().device;
    const auto stream = device.make_stream();
    const auto bytes = copied_bytes(ranks, is_brief);
    const auto memory = device.reserve(bytes + 4096, "timed norms of gradients", Arena::Kind::own);
    const auto gradient = VectorAddress<float>::at(memory.data(), {bytes / 4});
    kernels::fill_zero<float>(stream, gradient);  // touches its pages
    const auto sum = VectorAddress<ExactSum>::at(memory.data() + bytes, {1}).only();
    return rate_of(
        ranks, static_cast<double>(bytes), [&] { kernels::sum_of_squares<float>(stream, gradient, sum); },
        [&] { stream.finish(); }, is_brief);
}

}  // namespace

double measure_device_bandwidth(BenchRanks& ranks, bool is_brief) {
    ranks.begin("measures memory", "", 0);
    auto& device = *ranks.devices().device;
    const auto memory = device.reserve(2 * copied_bytes(ranks, is_brief), "timed copies", Arena::Kind::own);
    const double rate = copy_rate(ranks, device.make_stream(), memory, is_brief);
    ranks.end();
    return rate;
}

OptimizerRates measure_optimizer(BenchRanks& ranks, bool is_brief) {
    ranks.begin("measures updates", "", 0);
    OptimizerRates rates{.updates = update_rate(ranks, is_brief), .squares = squares_rate(ranks, is_brief)};
    const auto bytes = copied_bytes(ranks, is_brief);
    {
        const Arena memory{2 * bytes, "timed copies"};
        rates.host_bandwidth = copy_rate(ranks, ranks.devices().host, memory, is_brief);
    }
    const device::SampleCopy copy{*ranks.devices().device, bytes};
    copy.start(true, bytes);
    copy.start(false, bytes);  // touches the pages of both sides
    for (const bool to_device : {true, false}) {
        (to_device ? rates.to_device : rates.to_host) = rate_of(
            ranks, static_cast<double>(bytes), [&] { copy.start(to_device, bytes); }, [&] { copy.finish(); },
            is_brief);
    }
    ranks.end();
    return rates;
}

}  // namespace ziggurat::app
