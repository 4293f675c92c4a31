#include "comm/wait_context.hpp"

#include <string>

#include "base/error.hpp"
#include "comm/background.hpp"
#include "comm/watch/liveness.hpp"
#include "comm/watch/process_abort.hpp"

namespace ziggurat::comm {

WaitContext WaitContext::with_background(BackgroundWork& background) const noexcept {
    WaitContext context = *this;
    context.background_ = &background;
    return context;
}

void WaitContext::publish(std::string_view what, WaitTarget whose) const noexcept {
    if (liveness_ == nullptr) {
        return;
    }
    if (whose == WaitTarget::others) {
        liveness_->waits_for(what);
    } else {
        liveness_->device_busy(what);
    }
}

void WaitContext::check(std::string_view what, WaitTarget whose) const {
    publish(what, whose);
    if (liveness_ != nullptr && liveness_->is_ending()) {
        throw Error{ErrorKind::communication, "stopped waiting for " + std::string{what} +
                                                  " (the job is being aborted). See its first error "
                                                  "message."};
    }
}

void WaitContext::make_progress() const {
    if (background_ != nullptr) {
        background_->advance();
    }
}

void WaitContext::end_wait() const noexcept {
    if (liveness_ != nullptr) {
        liveness_->end_wait();
    }
}

void WaitContext::begin_activity(std::string_view what, std::int64_t since_ns) const noexcept {
    if (liveness_ != nullptr) {
        liveness_->begin_activity(what, since_ns);
    }
}

void WaitContext::fail(int exit_code, const std::string& message) const {
    if (liveness_ != nullptr) {
        liveness_->fail(exit_code, message);
    }
    print_on_stderr("error: " + message);
}

}  // namespace ziggurat::comm
