/// The end of a command by an exception: message and exit code for the user.
#pragma once

#include <string>

namespace ziggurat {

/// The end of a command that could not go on.
struct Failure {
    std::string problem;
    int exit_code = 0;
};

/// The failure that the exception being handled means. A refusal of the system, of memory for instance, is
/// for the user to mend; an exception that nobody expected is a bug of ours.
Failure failure_at_hand();

}  // namespace ziggurat
