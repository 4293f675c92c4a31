/// What streams have been given, and how it is run; for streams.cpp.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "tests/emulated_cuda/fiber.hpp"
#include "tests/emulated_cuda/settings.hpp"
#include "tests/emulated_cuda/streams.hpp"

namespace emulated_cuda {

/// All that streams of this process have been given. It is never destroyed, for threads may be in it.
struct Work {
    std::mutex mutex;
    std::condition_variable news;
    std::mt19937_64 random{settings().seed};
    std::vector<cudaStream_t> streams;
    std::map<int, Failure> errors;
};

Work& all();

/// To the thread sanitizer it orders nothing, for on a GPU no lock orders the work of streams.
class Lock {
  public:
    Lock() : unseen_{std::in_place}, lock_{all().mutex} {}

    template <class Condition>
    void wait(const Condition& condition) {
        all().news.wait(lock_, condition);
    }
    template <class F>
    void without(const F& work) {
        lock_.unlock();
        seen(work);
        lock_.lock();
    }
    /// Keeps it locked.
    template <class F>
    void seen(const F& work) {
        unseen_.reset();
        work();
        unseen_.emplace();
    }

  private:
    std::optional<Unseen> unseen_;
    std::unique_lock<std::mutex> lock_;
};

bool has_threads();
bool is_reached(const Milestone& milestone);

// All that follows is called with the lock.

/// Of what the GPU has ended with, the first is kept.
void keep_error(int device, Failure failure);
/// Of a stream that is done and was destroyed.
void forget(cudaStream_t stream);
/// What the thread of a stream does until the stream ends; it takes the lock itself.
void run_stream(cudaStream_t stream);
/// Runs a random piece of those that can begin; false when there is none.
bool run_some(Lock& lock);

}  // namespace emulated_cuda
