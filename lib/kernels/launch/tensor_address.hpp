/// TensorAddress: address of a tensor in memory that only its kernels may access.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>

#include "base/contract.hpp"
#include "tensor/bfloat16.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat {
class ExactSum;
}

namespace ziggurat::kernels {

struct AnswerRows;
struct AnswerSums;
struct LossStatistics;
struct PairResult;
struct StepInputs;

/// Element type of tensors: numbers, and structs of numbers that are listed by name.
///
/// A struct with an address is excluded, because that address would not be translated for kernels.
template <class T>
concept Element =
    std::same_as<std::remove_const_t<T>, std::byte> || std::same_as<std::remove_const_t<T>, std::uint8_t> ||
    std::same_as<std::remove_const_t<T>, std::int32_t> ||
    std::same_as<std::remove_const_t<T>, std::int64_t> || std::same_as < std::remove_const_t<T>,
float > || std::same_as<std::remove_const_t<T>, tensor::bfloat16> ||
    std::same_as<std::remove_const_t<T>, ExactSum> || std::same_as<std::remove_const_t<T>, LossStatistics> ||
    std::same_as<std::remove_const_t<T>, StepInputs> || std::same_as<std::remove_const_t<T>, AnswerRows> ||
    std::same_as<std::remove_const_t<T>, AnswerSums> || std::same_as<std::remove_const_t<T>, PairResult>;

/// Argument of a kernel: address and extents of a contiguous, row-major tensor.
///
/// Its holder can slice it but not read it. Only launch() converts it to a pointer, for the backend that
/// works on that memory. Rank 1 is a vector, rank 0 one object.
///
/// Host memory converts to it implicitly: a TensorRef, for rank 1 a range, for rank 0 a pointer.
template <Element T, int rank>
class TensorAddress {
    template <class Range>
    static constexpr bool gives_elements = [] {
        if constexpr (std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>) {
            using Found = std::remove_reference_t<std::ranges::range_reference_t<Range>>;
            return std::is_convertible_v<Found(*)[], T(*)[]>;
        }
        return false;
    }();

  public:
    using Extents = std::array<std::int64_t, static_cast<std::size_t>(rank)>;

    constexpr TensorAddress() noexcept = default;
    constexpr TensorAddress(T* first, const Extents& extents) noexcept : first_{first}, extents_{extents} {}
    constexpr TensorAddress(T* object) noexcept requires(rank == 0) : first_{object} {}
    template <class U>
    requires(std::same_as<const U, T> ||
             std::same_as<U, T>) constexpr TensorAddress(const tensor::TensorRef<U, rank>& host) noexcept
        : first_{host.data}, extents_{host.extents} {}
    template <class U>
    requires std::same_as<const U, T>
    constexpr TensorAddress(const TensorAddress<U, rank>& writable) noexcept
        : first_{writable.first_}, extents_{writable.extents_} {}
    template <class Range>
    requires(rank == 1 && gives_elements<Range&>) constexpr TensorAddress(Range& host) noexcept
        : first_{std::ranges::data(host)}, extents_{std::ranges::ssize(host)} {}
    template <class Range>
    requires(rank == 1 && gives_elements<const Range&>) constexpr TensorAddress(const Range& host) noexcept
        : first_{std::ranges::data(host)}, extents_{std::ranges::ssize(host)} {}

    /// Returns the tensor of elements from `first` on, an address that an arena returned.
    static TensorAddress at(std::byte* first, const Extents& extents) noexcept {
        return {reinterpret_cast<T*>(first), extents};
    }

    constexpr const Extents& extents() const noexcept { return extents_; }
    constexpr std::int64_t extent(int dim) const noexcept { return extents_[dim]; }
    constexpr std::int64_t size() const noexcept {
        std::int64_t n = 1;
        for (const auto extent : extents_) {
            n *= extent;
        }
        return n;
    }
    constexpr bool empty() const noexcept { return first_ == nullptr || size() == 0; }
    /// Returns the address as a number, for alignment checks.
    std::uintptr_t number() const noexcept { return reinterpret_cast<std::uintptr_t>(first_); }

    /// Returns all elements as a vector, in order.
    TensorAddress<T, 1> flat() const noexcept { return {first_, {size()}}; }
    /// Returns their bytes, read-only.
    TensorAddress<const std::byte, 1> bytes() const noexcept {
        return {reinterpret_cast<const std::byte*>(first_), {size() * static_cast<std::int64_t>(sizeof(T))}};
    }
    /// \pre the same number of elements
    template <int other>
    TensorAddress<T, other> reshaped(
        const std::array<std::int64_t, static_cast<std::size_t>(other)>& extents) const {
        const TensorAddress<T, other> made{first_, extents};
        ZG_EXPECTS(made.size() == size());
        return made;
    }
    /// Returns elements [begin, begin + count). \pre they exist
    TensorAddress part(std::int64_t begin, std::int64_t count) const requires(rank == 1) {
        ZG_EXPECTS(begin >= 0 && count >= 0 && begin + count <= size());
        return {first_ + begin, {count}};
    }
    /// Returns the single element. \pre there is exactly one
    TensorAddress<T, 0> only() const requires(rank == 1) {
        ZG_EXPECTS(size() == 1);
        return {first_};
    }
    /// Returns the first bytes as a matrix. \pre there are enough bytes
    template <Element E>
    TensorAddress<E, 2> matrix_of(std::int64_t rows, std::int64_t width) const
        requires(rank == 1 && std::same_as<T, std::byte>) {
        ZG_EXPECTS(rows * width * static_cast<std::int64_t>(sizeof(E)) <= size());
        return TensorAddress<E, 2>::at(first_, {rows, width});
    }

  private:
    friend class ArgumentTranslator;
    template <Element, int>
    friend class TensorAddress;

    T* first_ = nullptr;
    Extents extents_{};
};

template <class T>
using VectorAddress = TensorAddress<T, 1>;
template <class T>
using ObjectAddress = TensorAddress<T, 0>;

}  // namespace ziggurat::kernels
