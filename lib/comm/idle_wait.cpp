#include "comm/idle_wait.hpp"

#include <sched.h>
#include <time.h>

namespace ziggurat::comm {
namespace {

constexpr int spins = 500;
constexpr int yields = 100;
constexpr long sleep_nanoseconds = 20'000;

}  // namespace

void IdleWait::idle() noexcept {
    if (tries_ < spins) {
        ++tries_;
    } else if (tries_ < spins + yields) {
        ++tries_;
        sched_yield();
    } else {
        const timespec pause{0, sleep_nanoseconds};
        nanosleep(&pause, nullptr);
    }
}

}  // namespace ziggurat::comm
