#include "comm/abort_flag.hpp"

#include <string>

#include "base/error.hpp"
#include "comm/watch/liveness.hpp"

namespace ziggurat::comm {

void AbortFlag::check(std::string_view waiting_for) const {
    if (liveness_ != nullptr) {
        liveness_->waits_for(waiting_for);
    }
    if (is_raised()) {
        throw Error{ErrorKind::communication,
                    "gave up waiting for " + std::string{waiting_for} +
                        " (the run is being aborted). See the first message of the job."};
    }
}

void AbortFlag::moves() const noexcept {
    if (liveness_ != nullptr) {
        liveness_->moves();
    }
}

void AbortFlag::does(std::string_view what, std::int64_t since_ns) const noexcept {
    if (liveness_ != nullptr) {
        liveness_->does(what, since_ns);
    }
}

void AbortFlag::look() const {
    if (liveness_ != nullptr) {
        liveness_->look();
    }
}

bool AbortFlag::is_job_ending() const noexcept {
    return liveness_ != nullptr && liveness_->is_ending();
}

}  // namespace ziggurat::comm
