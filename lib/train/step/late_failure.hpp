/// Failure of an op that a processor or a thread beside the one that issues has come upon: what is said of
/// it.
#pragma once

#include <string>

#include "comm/context.hpp"
#include "comm/wait_context.hpp"

namespace ziggurat::train {

struct FailedOp {
    std::string label;
    /// False: it, or one that the same device was given after it. A device that is lost says no more.
    bool is_certain = true;
};

/// Throws the error at hand again, of the same kind, with the op in front.
///
/// \pre an exception is being handled
[[noreturn]] void throw_failure_of(const FailedOp& op);

/// For destructors: ends the job with the error at hand, as a rank ends that has failed; where another error
/// is on its way, which says how the job ends, it is told as a warning beside it. Without a watch over ranks
/// it is told, no more.
///
/// \param num_exceptions  std::uncaught_exceptions() when what is destroyed was made
/// \pre an exception is being handled
void tell_failure_of(const FailedOp& op, const comm::WaitContext& context, int num_exceptions);

/// Ends the job with the error at hand, at once, where it has several ranks that are watched; else returns.
/// For whoever holds an executor of a late device: that one ends only when its device does, whose collectives
/// may wait for ranks that wait for this one, and nobody would hear of the error.
///
/// \pre an exception is being handled
void end_job_at_once(const comm::Context& world);

}  // namespace ziggurat::train
