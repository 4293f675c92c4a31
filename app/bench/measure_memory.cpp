#include "app/bench/measure_memory.hpp"

#include <cstdint>

#include "app/bench/timed_rounds.hpp"
#include "device/sample_copy.hpp"
#include "kernels/sample_memory.hpp"

namespace ziggurat::app {
namespace {

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
template <class Sample>
double rate_of(BenchRanks& ranks, double work, const Sample& sample, bool is_brief) {
    const double seconds =
        usual_seconds([&] { sample.start(); }, [&] { sample.finish(); }, limits_for(is_brief));
    return work / ranks.slowest({seconds}).front();
}

/// Returns the parameters/s that AdamW updates in host memory.
double update_rate(BenchRanks& ranks, bool is_brief) {
    const std::int64_t parameters = is_brief ? mebibyte / 4 : 8 * mebibyte;
    const kernels::SampleUpdates updates{ranks.devices().host, parameters};
    return rate_of(ranks, static_cast<double>(parameters), updates, is_brief);
}

/// Returns the bytes/s of gradients whose squares the device sums.
double squares_rate(BenchRanks& ranks, bool is_brief) {
    const auto bytes = copied_bytes(ranks, is_brief);
    const kernels::SampleSquares squares{*ranks.devices().device, bytes};
    return rate_of(ranks, static_cast<double>(bytes), squares, is_brief);
}

/// Copies between the device and the host, in one direction.
struct OneWayCopy {
    const device::SampleCopy& copy;
    bool to_device;
    std::int64_t bytes;

    void start() const { copy.start(to_device, bytes); }
    void finish() const { copy.finish(); }
};

}  // namespace

double measure_device_bandwidth(BenchRanks& ranks, bool is_brief) {
    ranks.begin("measures memory", "", 0);
    const auto bytes = copied_bytes(ranks, is_brief);
    const kernels::SampleCopies copies{*ranks.devices().device, bytes};
    const double rate = rate_of(ranks, 2.0 * static_cast<double>(bytes), copies, is_brief);
    ranks.end();
    return rate;
}

OptimizerRates measure_optimizer(BenchRanks& ranks, bool is_brief) {
    ranks.begin("measures updates", "", 0);
    OptimizerRates rates{.updates = update_rate(ranks, is_brief), .squares = squares_rate(ranks, is_brief)};
    const auto bytes = copied_bytes(ranks, is_brief);
    {
        const kernels::SampleCopies copies{ranks.devices().host, bytes};
        rates.host_bandwidth = rate_of(ranks, 2.0 * static_cast<double>(bytes), copies, is_brief);
    }
    const device::SampleCopy copy{*ranks.devices().device, bytes};
    copy.start(true, bytes);
    copy.start(false, bytes);  // touches the pages of both sides
    for (const bool to_device : {true, false}) {
        (to_device ? rates.to_device : rates.to_host) =
            rate_of(ranks, static_cast<double>(bytes), OneWayCopy{copy, to_device, bytes}, is_brief);
    }
    ranks.end();
    return rates;
}

}  // namespace ziggurat::app
