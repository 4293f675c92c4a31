/// launch: calls the sibling of a kernel that belongs to a stream's processor.
///
/// The one place of `kernels`, and outside `device` the one of all, that asks what a stream's memory is. A
/// kernel checks its arguments and launches itself: its sibling, which alone reads memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>

#include "base/contract.hpp"
#include "device/copy.hpp"
#include "device/cuda.hpp"
#include "device/delayed_queue.hpp"
#include "device/host_thread.hpp"
#include "device/stream.hpp"
#include "kernels/sibling.hpp"

namespace ziggurat::kernels {

struct AdamW;
struct AttentionShape;
struct LocalWindow;
struct NormalField;

/// Goes to a kernel as it is, for it holds no address. A struct belongs here only by its name.
template <class T>
concept PlainValue = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, AdamW> ||
    std::is_same_v<T, AttentionShape> || std::is_same_v<T, LocalWindow> || std::is_same_v<T, NormalField>;

/// Turns arguments into those that siblings can use: every address into where they reach it. An
/// argument of another type does not compile, for nobody has said where its addresses are.
///
/// Errors: Error{internal} when memory is not the device's, or not all of one piece of it
class Reachable {
  public:
    /// For memory of the host.
    Reachable() = default;
    /// For that of a device.
    explicit Reachable(const device::DelayedQueue& queue) noexcept : queue_{&queue} {}

    template <PlainValue T>
    T operator()(T value) const {
        return value;
    }
    template <class T>
    Prepared<T> operator()(Prepared<T> object) const {
        return object;
    }
    template <Element T, int rank>
    Reached<T, rank> operator()(const TensorAddress<T, rank>& tensor) const {
        return {range(tensor.first_, tensor.size()), tensor.extents_};
    }
    /// As arenas give it, for copies.
    template <class T>
    static T* address(const VectorAddress<T>& bytes) noexcept {
        return bytes.first_;
    }
    ReadableDropout operator()(const Dropout& dropout) const {
        if (dropout.probability == 0) {
            return {};
        }
        return {.probability = dropout.probability,
                .seed = dropout.seed,
                .purpose = dropout.purpose,
                .samples = (*this)(dropout.samples).first,
                .sequence = dropout.sequence,
                .first_row = dropout.first_row,
                .inputs = (*this)(dropout.inputs)};
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

    const device::DelayedQueue* queue_ = nullptr;
};

/// Processors that a kernel has siblings for.
enum class ComputedBy { all, host, gpu };

/// Calls siblings of one kernel.
template <auto kernel, ComputedBy by>
struct Launcher;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...), ComputedBy by>
struct Launcher<kernel, by> {
    static void launch(const device::Stream& stream, Parameters... arguments) {
        switch (stream.space()) {
            case device::MemorySpace::host:
                if constexpr (by != ComputedBy::gpu) {
                    on_host(stream, Reachable{}(arguments)...);
                } else {
                    ZG_EXPECTS(!"the stream is a GPU's");
                }
                break;
            case device::MemorySpace::delayed_host:
                if constexpr (by != ComputedBy::gpu) {
                    auto& queue = static_cast<device::DelayedQueue&>(stream.queue());
                    const Reachable reachable{queue};
                    on_queue(queue, stream.num_threads(), reachable(arguments)...);
                } else {
                    ZG_EXPECTS(!"the stream is a GPU's");
                }
                break;
            case device::MemorySpace::cuda:
                if constexpr (device::has_cuda && by != ComputedBy::host) {
                    cuda::Sibling<kernel>::run(stream, Reachable{}(arguments)...);
                } else {
                    ZG_EXPECTS(!"the stream is the host's");
                }
                break;
        }
    }

  private:
    static void on_host(const device::Stream& stream,
                        const typename ReachedParameter<Parameters>::Type&... arguments) {
        if (stream.thread() == nullptr) {
            host::Sibling<kernel>::run(stream, arguments...);
            return;
        }
        const auto work = [&] { host::Sibling<kernel>::run(stream, arguments...); };
        stream.thread()->run(std::cref(work));
    }

    static void on_queue(device::DelayedQueue& queue,
                         int num_threads,
                         const typename ReachedParameter<Parameters>::Type&... arguments) {
        using Reached = std::tuple<std::remove_cvref_t<typename ReachedParameter<Parameters>::Type>...>;
        queue.run([num_threads, reached = Reached{arguments...}] {
            std::apply(
                [&](const auto&... each) {
                    host::Sibling<kernel>::run(device::Stream{num_threads}, each...);
                },
                reached);
        });
    }
};

/// Calls the sibling of `kernel` that belongs to the stream's processor, with what it can reach of
/// `arguments`, which become the kernel's parameters.
///
/// Async: on `stream`; what arguments refer to must live until it has run
template <auto kernel, class... Arguments>
void launch(const device::Stream& stream, const Arguments&... arguments) {
    Launcher<kernel, ComputedBy::all>::launch(stream, arguments...);
}

/// The same for what GPUs have no sibling of: what only the host's functions give its bits, or what is never
/// done on them. \pre `stream` is not one of a GPU
template <auto kernel, class... Arguments>
void launch_on_host(const device::Stream& stream, const Arguments&... arguments) {
    Launcher<kernel, ComputedBy::host>::launch(stream, arguments...);
}

/// The same for kernels that only GPUs have. \pre `stream` is one of a GPU
template <auto kernel, class... Arguments>
void launch_on_gpu(const device::Stream& stream, const Arguments&... arguments) {
    Launcher<kernel, ComputedBy::gpu>::launch(stream, arguments...);
}

/// What kernels prepare for the processor of `stream`: made by `on_host` or by `on_gpu`, from `stream` and
/// `arguments`.
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

/// A copy: by the host's sibling of `kernel` on the host, else by the device, which also reaches the host's
/// memory.
template <auto kernel>
void launch_copy(const device::Stream& stream,
                 VectorAddress<std::byte> to,
                 VectorAddress<const std::byte> from) {
    if (stream.space() == device::MemorySpace::host) {
        launch<kernel>(stream, to, from);
    } else {
        device::copy(stream, Reachable::address(to), Reachable::address(from), to.size());
    }
}

}  // namespace ziggurat::kernels
