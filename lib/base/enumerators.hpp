/// Counts of enumerators, found by the function that names them.
#pragma once

#include <type_traits>

namespace ziggurat {

/// Enumerators of E from the one of value `first` on.
///
/// `to_string(E)` is constexpr, a switch over all enumerators that throws behind it: an enumerator that the
/// switch forgets is a warning, and one that it knows is counted.
template <class E, int first = 0>
consteval int num_enumerators() {
    if constexpr (requires { typename std::bool_constant<(to_string(E{first}) != nullptr)>; }) {
        return 1 + num_enumerators<E, first + 1>();
    } else {
        return 0;
    }
}

}  // namespace ziggurat
