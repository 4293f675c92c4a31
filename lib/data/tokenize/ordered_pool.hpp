/// Threads that work on jobs and return their results in the order of submission.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "base/stop_check.hpp"

namespace ziggurat::data {

/// Pool whose threads have a worker each: `Result operator()(const Job&)`.
template <class Job, class Result>
class OrderedPool {
  public:
    /// \param workers  one for each thread, not empty
    template <class Worker>
    explicit OrderedPool(std::vector<Worker> workers) {
        for (auto& worker : workers) {
            threads_.emplace_back([this, own = std::move(worker)]() mutable { work(own); });
        }
    }
    ~OrderedPool() {
        {
            const std::scoped_lock lock{mutex_};
            is_over_ = true;
        }
        has_work_.notify_all();
        for (auto& thread : threads_) {
            thread.join();
        }
    }
    OrderedPool(const OrderedPool&) = delete;
    OrderedPool& operator=(const OrderedPool&) = delete;

    /// Returns the number of jobs that were submitted and not yet returned.
    std::size_t in_flight() const noexcept { return order_.size(); }

    void submit(Job job) {
        auto entry = std::make_shared<Entry>();
        entry->job = std::move(job);
        order_.push_back(entry);
        {
            const std::scoped_lock lock{mutex_};
            waiting_.push_back(std::move(entry));
        }
        has_work_.notify_one();
    }

    /// Waits for the oldest job and returns its result, or throws its error. \pre in_flight() > 0
    ///
    /// \param stop  called several times a second during the wait
    Result next_result(const StopCheck& stop = {}) {
        ZG_EXPECTS(!order_.empty());
        const auto entry = std::move(order_.front());
        order_.pop_front();
        std::unique_lock lock{mutex_};
        const auto is_done = [&] { return entry->problem || entry->result; };
        do {
            check(stop);
        } while (!has_result_.wait_for(lock, std::chrono::milliseconds{200}, is_done));
        if (entry->problem) {
            std::rethrow_exception(entry->problem);
        }
        return std::move(*entry->result);
    }

  private:
    struct Entry {
        Job job;
        std::optional<Result> result;
        std::exception_ptr problem;
    };

    template <class Worker>
    void work(Worker& worker) {
        std::unique_lock lock{mutex_};
        for (;;) {
            has_work_.wait(lock, [&] { return is_over_ || !waiting_.empty(); });
            if (is_over_) {
                return;
            }
            const auto entry = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            std::optional<Result> result;
            std::exception_ptr problem;
            try {
                result = worker(entry->job);
            } catch (...) {
                problem = std::current_exception();
            }
            lock.lock();
            entry->job = {};  // unmaps files as soon as possible
            entry->result = std::move(result);
            entry->problem = problem;
            has_result_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable has_work_, has_result_;
    bool is_over_ = false;
    std::deque<std::shared_ptr<Entry>> waiting_;
    std::deque<std::shared_ptr<Entry>> order_;  ///< used only by the calling thread
    std::vector<std::thread> threads_;
};

}  // namespace ziggurat::data
