/// Assertions, which are always enabled: their cost is negligible.
#pragma once

#include <source_location>

namespace ziggurat {

/// Throws `Error{internal}` that names the broken condition and its source location.
[[noreturn]] void fail_contract(const char* kind, const char* condition, std::source_location where);

}  // namespace ziggurat

/// Checks a precondition, which the caller must meet. The condition must have no side effects.
#define ZG_EXPECTS(condition)           \
    ((condition) ? static_cast<void>(0) \
                 : ::ziggurat::fail_contract("precondition", #condition, std::source_location::current()))

/// Checks an invariant or postcondition of this function. The condition must have no side effects.
#define ZG_ENSURES(condition)           \
    ((condition) ? static_cast<void>(0) \
                 : ::ziggurat::fail_contract("invariant", #condition, std::source_location::current()))
