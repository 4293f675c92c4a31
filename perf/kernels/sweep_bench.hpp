/// SweepBench: time of memory-bound kernels, against a copy.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/exact_sum.hpp"
#include "device/copy.hpp"
#include "device/device.hpp"
#include "device/event.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "layout/cuda_workspaces.hpp"
#include "layout/host_workspaces.hpp"
#include "perf/kernels/operand_pool.hpp"

namespace ziggurat::perf {

constexpr std::int64_t sequence = 1024;
constexpr std::int64_t hidden = 768;
constexpr std::int64_t ffn = 3072;
constexpr std::int64_t vocab = 50257;
constexpr std::int64_t vocab_padded = 50304;

/// Sizes of operands, and the number of calls of kernels.
struct Sizes {
    std::int64_t rows = 4096;
    std::int64_t loss_rows = 1024;
    std::int64_t parameters = 124'475'904;
    std::int64_t copy_elements = std::int64_t{16} << 20;
    std::int64_t pool_bytes = std::int64_t{3} << 30;
    int repetitions = 9;
    int calls = 1;  ///< calls per repetition
};
constexpr Sizes of_gpu{.rows = 32768,
                       .loss_rows = 2048,
                       .copy_elements = std::int64_t{128} << 20,
                       .pool_bytes = std::int64_t{16} << 30,
                       .calls = 10};
constexpr Sizes small{.rows = 8,
                      .loss_rows = 2,
                      .parameters = 4096,
                      .copy_elements = 4096,
                      .pool_bytes = std::int64_t{512} << 20,
                      .repetitions = 1,
                      .calls = 2};

/// A device, a pool of operands, and inputs that all kernels share.
class SweepBench {
  public:
    /// \param on_gpu  true if `device` is a GPU
    SweepBench(std::shared_ptr<device::Device> device,
               device::Stream its_stream,
               const Sizes& its_sizes,
               bool on_gpu,
               std::string filter)
        : sizes{its_sizes},
          stream{std::move(its_stream)},
          device_{std::move(device)},
          begin_{stream},
          end_{stream},
          fixed_{device_->reserve(std::int64_t{64} << 20, "inputs", device::Arena::Kind::own)},
          pool{on_gpu ? OperandPool{*device_, stream, sizes.pool_bytes} : OperandPool{sizes.pool_bytes}},
          on_gpu_{on_gpu},
          filter_{std::move(filter)} {
        kernels::StepInputs of_step;
        of_step.loss_scale = 1.0f / static_cast<float>(sizes.rows);
        of_step.learning_rate = 1e-4f;
        std::vector<std::int32_t> numbers;
        std::vector<std::int32_t> slots;
        std::vector<std::int64_t> indices;
        for (std::int64_t r = 0; r < sizes.rows; ++r) {
            numbers.push_back(static_cast<std::int32_t>(r * 7919 % vocab));
            slots.push_back(static_cast<std::int32_t>(r % sequence));
            indices.push_back(r);
        }
        inputs = put(std::span<const kernels::StepInputs>{&of_step, 1});
        tokens = put(std::span<const std::int32_t>{numbers});
        positions = put(std::span<const std::int32_t>{slots});
        samples = put(std::span<const std::int64_t>{indices});
        sum = reinterpret_cast<ExactSum*>(take(sizeof(ExactSum)));
        std::int64_t max = 0;
        for (const auto width : {hidden, ffn}) {
            max = std::max({max, layout::HostWorkspaces::column_sum_bytes(width),
                            layout::CudaWorkspaces::column_sum_bytes(width)});
        }
        workspace = {take(max), static_cast<std::size_t>(max)};
    }

    /// Times the function that prepare() returns, without prepare() itself.
    void measure(const std::string& name,
                 double bytes,
                 const std::function<std::function<void()>()>& prepare) {
        if (name.find(filter_) == std::string::npos) {
            return;
        }
        double best = 1e30;
        double best_copy = 1e30;
        for (int i = 0; i < sizes.repetitions; ++i) {
            best_copy = std::min(best_copy, seconds_of_call([this] {
                                     const auto from = pool.span<const float>(sizes.copy_elements);
                                     const auto to = pool.span<float>(sizes.copy_elements);
                                     return [=, this] { kernels::convert<float, float>(stream, from, to); };
                                 }));
            best = std::min(best, seconds_of_call(prepare));
        }
        const double rate = bytes / best / 1e9;
        const double copy_rate = 8.0 * double(sizes.copy_elements) / best_copy / 1e9;
        std::printf(
            "{\"name\": \"%s\", %s, \"ms\": %.3f, \"GB_per_s\": %.1f, \"copy_GB_per_s\": %.1f, "
            "\"share_of_copy\": %.2f}\n",
            name.c_str(),
            on_gpu_ ? "\"device\": \"gpu\""
                    : ("\"threads\": " + std::to_string(stream.num_threads())).c_str(),
            best * 1e3, rate, copy_rate, rate / copy_rate);
        std::fflush(stdout);
    }

    kernels::Dropout dropout(float probability) const {
        return {.probability = probability,
                .seed = 1,
                .samples = {samples, {sizes.rows}},
                .sequence = sequence,
                .inputs = inputs};
    }

    const Sizes sizes;
    device::Stream stream;

  private:
    /// Allocates `bytes` bytes of the device for the lifetime of the benchmark.
    std::byte* take(std::int64_t bytes) {
        const auto at = next_;
        next_ += (bytes + 255) / 256 * 256;
        if (next_ > fixed_.bytes()) {
            std::puts("too little memory for inputs");
            std::exit(70);
        }
        return fixed_.data() + at;
    }
    template <class T>
    T* put(std::span<const T> values) {
        auto* const to = take(static_cast<std::int64_t>(values.size_bytes()));
        const device::Arena here{static_cast<std::int64_t>(values.size_bytes()), "inputs to be copied"};
        const auto pinned = device_->pin(here);
        std::ranges::copy(std::as_bytes(values), here.data());
        device::copy(stream, to, here.data(), static_cast<std::int64_t>(values.size_bytes()));
        stream.finish();
        return reinterpret_cast<T*>(to);
    }

    /// Returns the seconds of one call, averaged over successive calls on different operands.
    double seconds_of_call(const std::function<std::function<void()>()>& prepare) {
        std::vector<std::function<void()>> calls;
        for (int i = 0; i < sizes.calls; ++i) {
            calls.push_back(prepare());
        }
        begin_.record(stream);
        const auto start = std::chrono::steady_clock::now();
        for (const auto& call : calls) {
            call();
        }
        const std::chrono::duration<double> here = std::chrono::steady_clock::now() - start;
        end_.record(stream);
        stream.finish();
        return (on_gpu_ ? seconds_between(begin_.time_ns(), end_.time_ns()) : here.count()) / sizes.calls;
    }

    std::shared_ptr<device::Device> device_;
    device::Event begin_;
    device::Event end_;
    device::Arena fixed_;
    std::int64_t next_ = 0;

  public:
    OperandPool pool;
    kernels::StepInputs* inputs = nullptr;
    std::int32_t* tokens = nullptr;
    std::int32_t* positions = nullptr;
    std::int64_t* samples = nullptr;
    ExactSum* sum = nullptr;
    std::span<std::byte> workspace;

  private:
    bool on_gpu_;
    std::string filter_;
};

}  // namespace ziggurat::perf
