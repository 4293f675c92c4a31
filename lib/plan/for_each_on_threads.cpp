#include "plan/for_each_on_threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "base/quiet_thread.hpp"

namespace ziggurat::plan {
namespace {

std::size_t max_threads_of_plans = 1;

/// Threads that are joined at the end of a scope.
struct JoinedThreads {
    JoinedThreads() = default;
    JoinedThreads(const JoinedThreads&) = delete;
    JoinedThreads& operator=(const JoinedThreads&) = delete;
    ~JoinedThreads() {
        for (auto& thread : threads) {
            thread.join();
        }
    }

    std::vector<std::thread> threads;
};

/// True on threads that run work of for_each_on_threads(): their own calls run on one thread.
thread_local bool is_at_work = false;

}  // namespace

void for_each_on_threads(std::size_t count,
                         const std::function<void(std::size_t)>& work,
                         std::size_t max_threads) {
    std::atomic<std::size_t> next{0};
    std::vector<std::exception_ptr> errors(count);
    const bool is_nested = is_at_work;
    const auto cores = is_nested ? 1 : std::max<std::size_t>(1, std::thread::hardware_concurrency());
    const auto threads = std::min({cores, max_threads, count});
    const auto run = [&] {
        is_at_work = is_nested || threads > 1;
        for (auto i = next++; i < count; i = next++) {
            try {
                work(i);
            } catch (...) {
                errors[i] = std::current_exception();
            }
        }
        is_at_work = is_nested;
    };
    {
        JoinedThreads others;
        for (std::size_t i = 1; i < threads; ++i) {
            others.threads.push_back(start_quiet_thread("a thread that plans layouts", run));
        }
        run();
    }
    for (const auto& error : errors) {
        if (error) {
            std::rethrow_exception(error);
        }
    }
}

void set_threads_of_plans(std::size_t max_threads) {
    max_threads_of_plans = max_threads;
}

std::size_t threads_of_plans() noexcept {
    return max_threads_of_plans;
}

}  // namespace ziggurat::plan
