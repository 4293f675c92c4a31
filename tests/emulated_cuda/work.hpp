/// Work of the streams, and how it is run; for streams.cpp.
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

/// All work submitted to streams of this process. It is never destroyed, because threads may still use
/// it.
struct Work {
    std::mutex mutex;
    std::condition_variable message;
    std::mt19937_64 random{settings().seed};
    std::vector<cudaStream_t> streams;
    std::map<int, Failure> errors;
};

Work& all();

/// Lock that orders nothing for the thread sanitizer: on a GPU, no lock orders the work of streams.
class Lock {
  public:
    Lock() : unseen_{std::in_place}, lock_{all().mutex} {}

    template <class Condition>
    void wait(const Condition& condition) {
        all().message.wait(lock_, condition);
    }
    template <class F>
    void without(const F& work) {
        lock_.unlock();
        seen(work);
        lock_.lock();
    }
    /// Runs `work` visibly to the thread sanitizer, with the lock held.
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
bool is_complete(const EmulatedEvent& milestone);

// All following functions are called with the lock held.

/// Stores the first error of a GPU.
void keep_error(int device, Failure failure);
/// Destroys a stream that is done and was released.
void forget(cudaStream_t stream);
/// Main function of the thread of a stream; it takes the lock itself.
void run_stream(cudaStream_t stream);
/// Runs a random piece of those that can begin. Returns false if no piece can.
bool run_some(Lock& lock);

}  // namespace emulated_cuda
