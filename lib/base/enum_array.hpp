/// EnumArray: an array with one element for each enumerator of an enum.
#pragma once

#include <array>
#include <cstddef>

#include "base/enumerators.hpp"

namespace ziggurat {

/// std::array whose elements are selected by an enumerator, or by an integer that the caller counts.
///
/// \tparam size number of enumerators; they have the values 0, 1, 2 ...
template <class E, class T, std::size_t size = num_enumerators<E>()>
struct EnumArray : std::array<T, size> {
    using Base = std::array<T, size>;

    using Base::operator[];
    constexpr T& operator[](E e) { return Base::operator[](static_cast<std::size_t>(e)); }
    constexpr const T& operator[](E e) const { return Base::operator[](static_cast<std::size_t>(e)); }
};

}  // namespace ziggurat
