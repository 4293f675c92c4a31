#include "device/host_thread.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/quiet_thread.hpp"

namespace ziggurat::device {
namespace {

constexpr const char* own_work = "the work of its host-kernel thread";

}  // namespace

HostThread::HostThread(WaitObserver* watch)
    : watch_{watch}, thread_{start_quiet_thread("the thread of the host's kernels", [this] { loop(); })} {}

HostThread::~HostThread() {
    {
        const std::lock_guard lock{mutex_};
        is_ending_ = true;
    }
    report_.notify_one();
    const ScopedWait wait{watch_, own_work};
    thread_.join();
}

void HostThread::post(Task& task) {
    {
        const std::lock_guard lock{mutex_};
        ZG_EXPECTS(task.is_done);
        task.is_done = false;
        task.error = nullptr;
        task.next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = &task;
        last_ = &task;
    }
    report_.notify_one();
}

bool HostThread::is_done(Task& task) const {
    const std::lock_guard lock{mutex_};
    if (task.is_done && task.error) {
        std::rethrow_exception(std::exchange(task.error, nullptr));
    }
    return task.is_done;
}

void HostThread::run(const std::function<void()>& work) {
    if (std::this_thread::get_id() == thread_.get_id()) {
        work();
        return;
    }
    Task task{.work = [&work] { work(); }};
    post(task);
    const ScopedWait wait{watch_, own_work};
    std::unique_lock lock{mutex_};
    done_.wait(lock, [&] { return task.is_done; });
    if (task.error) {
        std::rethrow_exception(task.error);
    }
}

void HostThread::loop() {
    std::unique_lock lock{mutex_};
    while (true) {
        report_.wait(lock, [this] { return first_ != nullptr || is_ending_; });
        if (first_ == nullptr) {
            return;
        }
        Task& task = *first_;
        lock.unlock();
        const auto begin_ns = monotonic_ns();
        std::exception_ptr error;
        try {
            task.work();
        } catch (...) {
            error = std::current_exception();
        }
        const auto end_ns = monotonic_ns();
        lock.lock();
        first_ = task.next;
        task.begin_ns = begin_ns;
        task.end_ns = end_ns;
        task.error = std::exchange(error, nullptr);
        task.is_done = true;
        if (task.when_done) {
            task.when_done();
        }
        done_.notify_all();
    }
}

}  // namespace ziggurat::device
