/// Reporting of failures of asynchronous ops, which a device or another thread executes.
#pragma once

#include <string>

#include "comm/context.hpp"
#include "comm/wait_context.hpp"

namespace ziggurat::train {

struct FailedOp {
    std::string label;
    /// False if a later op of the same device may have failed instead. A lost device gives no details.
    bool is_certain = true;
};

/// Rethrows the current exception as an error of the same kind, with the op at the start of its text.
///
/// \pre an exception is being handled
[[noreturn]] void throw_failure_of(const FailedOp& op);

/// Ends the job with the current exception. For destructors.
///
/// If another exception is in flight, that one ends the job, and this one is printed as a warning. Without a
/// watchdog it is only printed.
///
/// \param num_exceptions  std::uncaught_exceptions() when the destroyed object was constructed
/// \pre an exception is being handled
void report_failure_of(const FailedOp& op, const comm::WaitContext& context, int num_exceptions);

/// Ends the job at once with the current exception; returns if it has one rank or no watchdog.
///
/// Owners of an executor with an asynchronous device call it. The destructor of such an executor waits for
/// the device. Its collectives may wait for ranks that wait for this rank, so the error would never be
/// reported.
///
/// \pre an exception is being handled
void end_job_at_once(const comm::Context& world);

}  // namespace ziggurat::train
