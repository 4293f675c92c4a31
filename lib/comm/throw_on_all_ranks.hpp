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
///             rank; the text names that rank if the group has several. Stopped, if any rank was stopped
void throw_on_all_ranks(const Context& group, const std::string& what, const std::function<void()>& work);

/// Calls `work` on each rank; if any rank was stopped, throws Stopped on all ranks.
///
/// For work whose errors end the job.
///
/// Collective: over `group`
void stop_on_all_ranks(const Context& group, const std::function<void()>& work);

/// Returns true on all ranks if any rank was stopped.
///
/// Then `stopped` becomes the text of the first of them.
///
/// For work that all ranks must end in order before they throw Stopped.
///
/// \param stopped  text of this rank's Stopped; empty: it was not stopped
/// Collective: over `group`
bool is_stopped_on_any(const Context& group, std::string& stopped);

}  // namespace ziggurat::comm
