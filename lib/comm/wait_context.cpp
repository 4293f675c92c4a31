#include "comm/wait_context.hpp"

#include <string>

#include "base/error.hpp"
#include "comm/background.hpp"
#include "comm/watch/departure.hpp"
#include "comm/watch/liveness.hpp"

namespace ziggurat::comm {

WaitContext WaitContext::going_on_with(Background& background) const noexcept {
    WaitContext context = *this;
    context.background_ = &background;
    return context;
}

void WaitContext::publish(std::string_view what, Awaited whose) const noexcept {
    if (liveness_ == nullptr) {
        return;
    }
    if (whose == Awaited::others) {
        liveness_->waits_for(what);
    } else {
        liveness_->works_beside(what);
    }
}

void WaitContext::check(std::string_view what, Awaited whose) const {
    publish(what, whose);
    if (liveness_ != nullptr && liveness_->is_ending()) {
        throw Error{ErrorKind::communication, "stopped waiting for " + std::string{what} +
                                                  " (the job is being aborted). See its first error "
                                                  "message."};
    }
}

void WaitContext::go_on() const {
    if (background_ != nullptr) {
        background_->advance();
    }
}

void WaitContext::moves() const noexcept {
    if (liveness_ != nullptr) {
        liveness_->moves();
    }
}

void WaitContext::does(std::string_view what, std::int64_t since_ns) const noexcept {
    if (liveness_ != nullptr) {
        liveness_->does(what, since_ns);
    }
}

void WaitContext::fail(int exit_code, const std::string& message) const {
    if (liveness_ != nullptr) {
        liveness_->fail(exit_code, message);
    }
    say_on_stderr("error: " + message);
}

}  // namespace ziggurat::comm
