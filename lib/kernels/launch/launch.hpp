/// launch: calls the implementation of a kernel for the processor of a stream.
///
/// Only this file, outside of `device`, checks which memory a stream works on. A kernel checks its arguments
/// and launches its backend: the implementation for one processor, which alone reads memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>

#include "base/contract.hpp"
#include "device/async_queue.hpp"
#include "device/copy.hpp"
#include "device/cuda.hpp"
#include "device/host_thread.hpp"
#include "device/stream.hpp"
#include "kernels/launch/kernel_backend.hpp"

namespace ziggurat::layout {
struct ContextHeads;
struct GatheredRows;
struct RingRound;
}  // namespace ziggurat::layout

namespace ziggurat::kernels {

struct AdamW;
struct AttentionShape;
struct LocalWindow;
struct LogitTransform;
struct NormalField;
struct PreferenceLoss;
struct QkvHeads;
struct SplitNorm;

/// Type that is passed to a kernel unchanged, because it holds no address.
///
/// Structs must be listed by name.
template <class T>
concept PlainValue = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, AdamW> ||
    std::is_same_v<T, AttentionShape> || std::is_same_v<T, layout::ContextHeads> ||
    std::is_same_v<T, layout::GatheredRows> || std::is_same_v<T, layout::RingRound> ||
    std::is_same_v<T, LocalWindow> || std::is_same_v<T, LogitTransform> || std::is_same_v<T, NormalField> ||
    std::is_same_v<T, PreferenceLoss> || std::is_same_v<T, QkvHeads> || std::is_same_v<T, SplitNorm>;

/// Translates arguments for backends: replaces addresses by those that the backend can access.
///
/// Arguments of other types do not compile, because the translation of their addresses is not defined.
///
/// Errors: Error{internal} if memory is not the device's, or is not one contiguous range of it
class ArgumentTranslator {
  public:
    /// Creates a translator for memory of the host, which changes nothing.
    ArgumentTranslator() = default;
    /// Creates a translator for memory of a device.
    explicit ArgumentTranslator(const device::AsyncQueue& queue) noexcept : queue_{&queue} {}

    template <PlainValue T>
    T operator()(T value) const {
        return value;
    }
    template <class T>
    PreparedArgument<T> operator()(PreparedArgument<T> object) const {
        return object;
    }
    template <Element T, int rank>
    DeviceArgument<T, rank> operator()(const TensorAddress<T, rank>& tensor) const {
        return {range(tensor.first_, tensor.size()), tensor.extents_};
    }
    /// Returns an untranslated address, for copies.
    template <class T>
    static T* address(const VectorAddress<T>& bytes) noexcept {
        return bytes.first_;
    }
    DropoutView operator()(const Dropout& dropout) const {
        if (dropout.probability == 0) {
            return {.factor = dropout.factor};
        }
        return {.probability = dropout.probability,
                .factor = dropout.factor,
                .seed = dropout.seed,
                .purpose = dropout.purpose,
                .samples = (*this)(dropout.samples).first,
                .sequence = dropout.sequence,
                .first_row = dropout.first_row,
                .first_channel = dropout.first_channel,
                .rows = dropout.rows,
                .inputs = (*this)(dropout.inputs),
                .steps_ahead = dropout.steps_ahead};
    }

  private:
    template <class T>
    T* range(T* first, std::int64_t count) const {
        if (queue_ == nullptr) {
            return first;
        }
        if (first == nullptr || count == 0) {
            return nullptr;
        }
        const auto* address = reinterpret_cast<const std::byte*>(first);
        const auto last = count * static_cast<std::int64_t>(sizeof(T)) - 1;
        auto* at = queue_->reachable(address);
        ZG_EXPECTS(queue_->reachable(address + last) == at + last);
        return reinterpret_cast<T*>(at);
    }

    const device::AsyncQueue* queue_ = nullptr;
};

/// Processors for which a kernel has backends.
enum class ComputedBy { all, host, gpu };

/// Calls backends of one kernel.
template <auto kernel, ComputedBy by>
struct Launcher;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...), ComputedBy by>
struct Launcher<kernel, by> {
    static void launch(const device::Stream& stream, Parameters... arguments) {
        switch (stream.space()) {
            case device::MemorySpace::host:
                if constexpr (by != ComputedBy::gpu) {
                    on_host(stream, ArgumentTranslator{}(arguments)...);
                } else {
                    ZG_EXPECTS(!"the stream is a GPU's");
                }
                break;
            case device::MemorySpace::emulated_host:
                if constexpr (by != ComputedBy::gpu) {
                    auto& queue = static_cast<device::AsyncQueue&>(stream.queue());
                    const ArgumentTranslator reachable{queue};
                    on_queue(queue, stream.num_threads(), reachable(arguments)...);
                } else {
                    ZG_EXPECTS(!"the stream is a GPU's");
                }
                break;
            case device::MemorySpace::cuda:
                if constexpr (device::has_cuda && by != ComputedBy::host) {
                    cuda::KernelBackend<kernel>::run(stream, ArgumentTranslator{}(arguments)...);
                } else {
                    ZG_EXPECTS(!"the stream is the host's");
                }
                break;
        }
    }

  private:
    static void on_host(const device::Stream& stream,
                        const typename DeviceArgumentOf<Parameters>::Type&... arguments) {
        if (stream.thread() == nullptr) {
            host::KernelBackend<kernel>::run(stream, arguments...);
            return;
        }
        const auto work = [&] { host::KernelBackend<kernel>::run(stream, arguments...); };
        stream.thread()->run(std::cref(work));
    }

    static void on_queue(device::AsyncQueue& queue,
                         int num_threads,
                         const typename DeviceArgumentOf<Parameters>::Type&... arguments) {
        using DeviceArgument =
            std::tuple<std::remove_cvref_t<typename DeviceArgumentOf<Parameters>::Type>...>;
        queue.run([num_threads, reached = DeviceArgument{arguments...}] {
            std::apply(
                [&](const auto&... each) {
                    host::KernelBackend<kernel>::run(device::Stream{num_threads}, each...);
                },
                reached);
        });
    }
};

/// Calls the backend of `kernel` for the stream's processor with translated `arguments`.
///
/// The arguments are converted to the kernel's parameters.
///
/// Async: on `stream`; memory of the arguments must live until it has run
template <auto kernel, class... Arguments>
void launch(const device::Stream& stream, const Arguments&... arguments) {
    Launcher<kernel, ComputedBy::all>::launch(stream, arguments...);
}

/// Does the same for kernels without a GPU backend. \pre `stream` is not one of a GPU
///
/// Their bits depend on the host's functions, or GPUs never need them.
template <auto kernel, class... Arguments>
void launch_on_host(const device::Stream& stream, const Arguments&... arguments) {
    Launcher<kernel, ComputedBy::host>::launch(stream, arguments...);
}

/// Does the same for kernels that only GPUs have. \pre `stream` is one of a GPU
template <auto kernel, class... Arguments>
void launch_on_gpu(const device::Stream& stream, const Arguments&... arguments) {
    Launcher<kernel, ComputedBy::gpu>::launch(stream, arguments...);
}

/// Returns the result of `on_host` or `on_gpu`, depending on the processor of `stream`.
///
/// Passes `stream` and `arguments` to it.
template <auto on_host, auto on_gpu, class... Arguments>
auto prepare(const device::Stream& stream, const Arguments&... arguments) {
    if constexpr (device::has_cuda) {
        if (stream.space() == device::MemorySpace::cuda) {
            return on_gpu(stream, arguments...);
        }
    }
    ZG_EXPECTS(stream.space() != device::MemorySpace::cuda);
    return on_host(stream, arguments...);
}

/// Copies memory: on the host with the host's backend of `kernel`, else with the device's copy.
///
/// The device's copy also accesses memory of the host.
template <auto kernel>
void launch_copy(const device::Stream& stream,
                 VectorAddress<std::byte> to,
                 VectorAddress<const std::byte> from) {
    if (stream.space() == device::MemorySpace::host) {
        launch<kernel>(stream, to, from);
    } else {
        device::copy(stream, ArgumentTranslator::address(to), ArgumentTranslator::address(from), to.size());
    }
}

}  // namespace ziggurat::kernels
