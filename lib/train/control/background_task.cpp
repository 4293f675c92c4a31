#include "train/control/background_task.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/quiet_thread.hpp"

namespace ziggurat::train {
namespace {

/// Nice value, of 0 to 19.
///
/// Linux gives a thread with nice 10 less than a tenth of a core if a thread with nice 0 also needs that
/// core. So this thread makes a step less than a tenth longer, for any amount of work.
constexpr int less_important = 10;

}  // namespace

BackgroundTask::~BackgroundTask() {
    cancel_requested_.store(true);
    if (thread_.joinable()) {
        thread_.join();
    }
}

void BackgroundTask::start(std::function<std::string()> work) {
    ZG_EXPECTS(is_idle());
    is_done_.store(false);
    cancel_requested_.store(false);
    thread_ = start_quiet_thread("a thread that writes a checkpoint", [this, work = std::move(work)] {
        // On Linux, the nice value belongs to a thread.
        const auto self = static_cast<id_t>(::syscall(SYS_gettid));
        static_cast<void>(::setpriority(PRIO_PROCESS, self, less_important));
        try {
            result_ = {true, work()};
        } catch (const std::exception& error) {
            result_ = {false, error.what()};
        }
        is_done_.store(true, std::memory_order_release);
    });
}

BackgroundTask::Result BackgroundTask::take() {
    ZG_EXPECTS(is_done());
    thread_.join();
    is_done_.store(false);
    return std::exchange(result_, {});
}

}  // namespace ziggurat::train
