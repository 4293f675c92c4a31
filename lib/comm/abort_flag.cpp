#include "comm/abort_flag.hpp"

#include <string>

#include "base/error.hpp"

namespace ziggurat::comm {

void AbortFlag::check(std::string_view waiting_for) const {
    if (is_raised()) {
        throw Error{ErrorKind::communication,
                    "gave up waiting for " + std::string{waiting_for} +
                        " (the run is being aborted). See the first message of the job."};
    }
}

}  // namespace ziggurat::comm
