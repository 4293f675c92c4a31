/// Conversion of an exception that ends a command to a message and an exit code.
#pragma once

#include <string>

namespace ziggurat {

/// Message and exit code of a command that failed or was stopped.
struct Failure {
    std::string problem;
    int exit_code = 0;
};

/// Returns `error: PROBLEM`, or `note: PROBLEM` if the command was stopped on request.
std::string message_of(const Failure& failure);

/// Returns the failure for the exception that is currently handled.
///
/// Errors of the system, for example out of memory, are of kind resource, which the user can fix. An
/// unexpected exception is of kind internal: a bug in Ziggurat. Stopped has exit_code_run_again.
Failure current_failure();

}  // namespace ziggurat
