/// Agreement of ranks on whether what each of them did has failed.
#pragma once

#include <functional>
#include <string>

#include "comm/context.hpp"

namespace ziggurat::comm {

/// Calls `work`, on each rank for itself, and returns when none has thrown.
///
/// \param what  `cannot read '/runs/a'`: begins the message of what is thrown and is no Error
/// Collective: over `group`
/// Errors:     on all ranks alike: of the worst kind that a rank has met, with the text of the first, which
///             names it where there are several
void agree_on_errors(const Context& group, const std::string& what, const std::function<void()>& work);

}  // namespace ziggurat::comm
