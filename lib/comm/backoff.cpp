#include "comm/backoff.hpp"

#include <time.h>

#include "comm/node/event_count.hpp"
#include "comm/node/node_memory.hpp"
#include "comm/node/yield_core.hpp"

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

void Backoff::idle() {
    const WaitPolicy& policy = node_ != nullptr ? node_->wait_policy() : policy_without_node;
    if (tries_ < policy.spins) {
        ++tries_;
        relax();
    } else if (tries_ < policy.spins + policy.yields) {
        tries_ = yield_core() ? tries_ + 1 : policy.spins + policy.yields;
    } else if (node_ == nullptr || node_->must_poll()) {
        sleep_briefly();
    } else {
        sleep_on_bell();
    }
}

void Backoff::sleep_briefly() {
    const timespec pause{0, nap_nanoseconds};
    nanosleep(&pause, nullptr);
}

void Backoff::sleep_on_bell() {
    if (!is_announced_) {
        announced_ = prepare_wait(node_->bell());
        is_announced_ = true;  // the caller polls once more before it sleeps
        return;
    }
    ++node_->wait_counts().sleeps;
    const WakeReason woken = wait_for_notify(node_->bell(), announced_, node_->longest_sleep_ns());
    node_->wait_counts().timeouts += woken == WakeReason::by_time ? 1 : 0;
    cancel_wait(node_->bell());
    is_announced_ = false;
    tries_ = node_->wait_policy().spins;  // after a sleep: yields, without spins
}

void Backoff::reset() noexcept {
    tries_ = 0;
    if (is_announced_) {
        cancel_wait(node_->bell());
        is_announced_ = false;
    }
}

}  // namespace ziggurat::comm
