#include "comm/idle_wait.hpp"

#include <time.h>

#include "comm/node/bell.hpp"
#include "comm/node/give_way.hpp"
#include "comm/node/node_memory.hpp"

namespace ziggurat::comm {
namespace {

constexpr WaitPolicy policy_without_node{500, 100};
constexpr long nap_nanoseconds = 20'000;

/// Executes the CPU's spin-wait hint.
inline void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

void IdleWait::idle() {
    const WaitPolicy& policy = node_ != nullptr ? node_->wait_policy() : policy_without_node;
    if (tries_ < policy.spins) {
        ++tries_;
        relax();
    } else if (tries_ < policy.spins + policy.yields) {
        tries_ = give_way() ? tries_ + 1 : policy.spins + policy.yields;
    } else if (node_ == nullptr || node_->must_poll()) {
        nap();
    } else {
        sleep_on_bell();
    }
}

void IdleWait::nap() {
    const timespec pause{0, nap_nanoseconds};
    nanosleep(&pause, nullptr);
}

void IdleWait::sleep_on_bell() {
    if (!is_announced_) {
        announced_ = announce_sleep(node_->bell());
        is_announced_ = true;  // the caller polls once more before it sleeps
        return;
    }
    ++node_->wait_counts().sleeps;
    const Woken woken = sleep_until_rung(node_->bell(), announced_, node_->longest_sleep_ns());
    node_->wait_counts().timeouts += woken == Woken::by_time ? 1 : 0;
    withdraw_sleep(node_->bell());
    is_announced_ = false;
    tries_ = node_->wait_policy().spins;  // after a sleep: yields, without spins
}

void IdleWait::reset() noexcept {
    tries_ = 0;
    if (is_announced_) {
        withdraw_sleep(node_->bell());
        is_announced_ = false;
    }
}

}  // namespace ziggurat::comm
