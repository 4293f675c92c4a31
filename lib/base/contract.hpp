/// Contracts for programmers: always on, cheap beside our work.
#pragma once

#include <source_location>

namespace ziggurat {

/// Throws `Error{internal}` that names the broken condition and its place.
[[noreturn]] void fail_contract(const char* kind, const char* condition, std::source_location where);

}  // namespace ziggurat

/// The caller kept its side. The condition has no effects.
#define ZG_EXPECTS(condition)           \
    ((condition) ? static_cast<void>(0) \
                 : ::ziggurat::fail_contract("precondition", #condition, std::source_location::current()))

/// This function kept its own side. The condition has no effects.
#define ZG_ENSURES(condition)           \
    ((condition) ? static_cast<void>(0) \
                 : ::ziggurat::fail_contract("invariant", #condition, std::source_location::current()))
