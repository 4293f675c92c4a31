/// launch: calls the sibling of a kernel that belongs to a stream's processor.
///
/// The one place of `kernels`, and outside `device` the one of all, that asks what a stream's memory is. A
/// kernel `x` checks its arguments and launches host::x; only that reads memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <type_traits>

#include "base/contract.hpp"
#include "base/exact_sum.hpp"
#include "device/copy.hpp"
#include "device/delayed_queue.hpp"
#include "device/host_thread.hpp"
#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels {

struct AdamW;
struct AttentionShape;
struct LocalWindow;
struct NormalField;

/// Goes to a kernel as it is, for it holds no address. A struct belongs here only by its name.
template <class T>
concept PlainValue = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, AdamW> ||
    std::is_same_v<T, AttentionShape> || std::is_same_v<T, LocalWindow> || std::is_same_v<T, NormalField>;

/// An object of the host that a kernel uses: its address is not one of the device. It outlives the work.
template <class T>
struct Prepared {
    const T* object;
};

/// May lie behind an address.
template <class T>
concept AddressFree = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_same_v<T, Dropout>;

/// Turns arguments into those that kernels of a DelayedQueue can use: every address into where they reach it.
/// An argument of another type does not compile, for nobody has said where its addresses are.
///
/// Errors: Error{internal} when memory is not the device's, or not all of one piece of it
class Reachable {
  public:
    explicit Reachable(const device::DelayedQueue& queue) noexcept : queue_{queue} {}

    template <PlainValue T>
    T operator()(T value) const {
        return value;
    }
    template <class T>
    Prepared<T> operator()(Prepared<T> object) const {
        return object;
    }
    /// To one object.
    template <AddressFree T>
    T* operator()(T* object) const {
        return range(object, 1);
    }
    template <AddressFree T>
    std::span<T> operator()(std::span<T> values) const {
        return {range(values.data(), std::ssize(values)), values.size()};
    }
    template <AddressFree T, int rank>
    tensor::TensorRef<T, rank> operator()(tensor::TensorRef<T, rank> values) const {
        return {range(values.data, values.size()), values.extents};
    }
    Dropout operator()(Dropout dropout) const {
        if (dropout.probability == 0) {
            return {};
        }
        dropout.samples = (*this)(dropout.samples);
        dropout.inputs = (*this)(dropout.inputs);
        return dropout;
    }

  private:
    template <class T>
    T* range(T* first, std::int64_t count) const {
        if (first == nullptr || count == 0) {
            return nullptr;
        }
        const auto* address = reinterpret_cast<const std::byte*>(first);
        const auto last = count * static_cast<std::int64_t>(sizeof(T)) - 1;
        auto* at = queue_.reachable(address);
        ZG_EXPECTS(queue_.reachable(address + last) == at + last);
        return reinterpret_cast<T*>(at);
    }

    const device::DelayedQueue& queue_;
};

/// The siblings of one kernel, told apart by the parameters of the host's.
template <auto host_kernel>
struct Siblings;

template <class... Parameters, void (*host_kernel)(const device::Stream&, Parameters...)>
struct Siblings<host_kernel> {
    static void launch(const device::Stream& stream, Parameters... arguments) {
        switch (stream.space()) {
            case device::MemorySpace::host:
                on_host(stream, arguments...);
                break;
            case device::MemorySpace::delayed_host:
                on_queue(static_cast<device::DelayedQueue&>(stream.queue()), stream.num_threads(),
                         arguments...);
                break;
        }
    }

  private:
    static void on_host(const device::Stream& stream, Parameters... arguments) {
        if (stream.thread() == nullptr) {
            host_kernel(stream, arguments...);
            return;
        }
        const auto work = [&] { host_kernel(stream, arguments...); };
        stream.thread()->run(std::cref(work));
    }

    static void on_queue(device::DelayedQueue& queue, int num_threads, Parameters... arguments) {
        const Reachable reachable{queue};
        queue.run([num_threads, reached = std::tuple<std::remove_cvref_t<Parameters>...>{
                                    reachable(std::remove_cvref_t<Parameters>(arguments))...}] {
            std::apply([&](const auto&... each) { host_kernel(device::Stream{num_threads}, each...); },
                       reached);
        });
    }
};

/// Calls `host_kernel`, or on another processor its sibling, with `arguments`, which become its parameters.
///
/// Async: on `stream`; what arguments refer to must live until it has run
template <auto host_kernel, class... Arguments>
void launch(const device::Stream& stream, const Arguments&... arguments) {
    Siblings<host_kernel>::launch(stream, arguments...);
}

/// A copy: by `host_copy` on the host, else by the device, which also reaches the host's memory.
template <auto host_copy>
void launch_copy(const device::Stream& stream, std::byte* to, const std::byte* from, std::int64_t bytes) {
    if (stream.space() == device::MemorySpace::host) {
        launch<host_copy>(stream, to, from, bytes);
    } else {
        device::copy(stream, to, from, bytes);
    }
}

}  // namespace ziggurat::kernels
