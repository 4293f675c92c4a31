/// What an exception means to the user.
#pragma once

#include <string>

namespace ziggurat {

/// The end of a command that could not go on.
struct Failure {
    std::string problem;
    int exit_code = 0;
};

/// Of the exception that is being handled. What the system refuses is for the user to mend, as memory is;
/// what nobody expected is a bug of ours.
Failure failure_at_hand();

}  // namespace ziggurat
