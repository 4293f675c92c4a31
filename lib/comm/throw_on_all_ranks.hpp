/// Collective error handling: all ranks throw if one of them has failed.
#pragma once

#include <functional>
#include <string>

#include "comm/context.hpp"

namespace ziggurat::comm {

/// Calls `work` on each rank and returns when no rank has thrown.
///
/// \param what  `cannot read '/runs/a'`: begins the message for an exception that is not an Error
/// Collective: over `group`
/// Errors:     the same on all ranks: the most severe kind of any rank, with the text of the first failed
///             rank; the text names that rank if the group has several
void throw_on_all_ranks(const Context& group, const std::string& what, const std::function<void()>& work);

}  // namespace ziggurat::comm
