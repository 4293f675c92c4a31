#include "comm/wait_context.hpp"

#include <string>

#include "base/error.hpp"
#include "comm/background.hpp"
#include "comm/watch/liveness.hpp"

namespace ziggurat::comm {

WaitContext WaitContext::going_on_with(Background& background) const noexcept {
    WaitContext context = *this;
    context.background_ = &background;
    return context;
}

void WaitContext::publish(std::string_view what) const noexcept {
    if (liveness_ != nullptr) {
        liveness_->waits_for(what);
    }
}

void WaitContext::check(std::string_view what) const {
    publish(what);
    if (liveness_ != nullptr && liveness_->is_ending()) {
        throw Error{ErrorKind::communication, "gave up waiting for " + std::string{what} +
                                                  " (the run is being aborted). See the first message of "
                                                  "the job."};
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

}  // namespace ziggurat::comm
