#include "plan/layouts/for_each_on_threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "base/quiet_thread.hpp"

namespace ziggurat::plan {
namespace {

/// Upper bound of threads: each needs the memory of a plan.
constexpr std::size_t max_threads = 8;

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

}  // namespace

void for_each_on_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    std::vector<std::exception_ptr> errors(count);
    const auto run = [&] {
        for (auto i = next++; i < count; i = next++) {
            try {
                work(i);
            } catch (...) {
                errors[i] = std::current_exception();
            }
        }
    };
    const auto cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    {
        JoinedThreads others;
        for (std::size_t i = 1; i < std::min({cores, max_threads, count}); ++i) {
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

}  // namespace ziggurat::plan
