#include "train/report/slow_path_watch.hpp"

#include "base/text/message.hpp"
#include "comm/control.hpp"
#include "train/ops/path_use.hpp"

namespace ziggurat::train {

void SlowPathWatch::step_ended(const StepRequests& agreed) {
    if (is_reported_) {
        return;
    }
    if (agreed[StepRequest::slow_path] > 0) {
        is_reported_ = true;
        assembly_.step_requests()[StepRequest::slow_path] = 0;
        reporter_.print_line(message(Severity::warning, comm::first_text(world_, found_)));
        return;
    }
    if (found_.empty()) {
        found_ = slow_path(assembly_.path_uses());
        assembly_.step_requests()[StepRequest::slow_path] = found_.empty() ? 0 : 1;
    }
}

}  // namespace ziggurat::train
