/// Number of enumerators of an enum, computed from its to_string function.
#pragma once

#include <type_traits>

namespace ziggurat {

/// Returns the number of enumerators of E, from the one of value `first`.
///
/// `to_string(E)` must be constexpr: a switch over all enumerators with a throw after it. An enumerator that
/// is missing in the switch causes a compiler warning; each one in the switch is counted.
template <class E, int first = 0>
consteval int num_enumerators() {
    if constexpr (requires { typename std::bool_constant<(to_string(E{first}) != nullptr)>; }) {
        return 1 + num_enumerators<E, first + 1>();
    } else {
        return 0;
    }
}

}  // namespace ziggurat
