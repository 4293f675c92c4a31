#include "device/cuda/pin_cuda.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/quiet_thread.hpp"

namespace ziggurat::device::cuda {

namespace {

constexpr std::int64_t bytes_of_page = 4096;
constexpr std::int64_t bytes_worth_a_thread = std::int64_t{1} << 30;
constexpr std::int64_t max_threads = 16;

/// Threads that are joined at the end of the scope.
struct ThreadsToJoin {
    std::vector<std::thread> threads;

    ~ThreadsToJoin() {
        for (auto& thread : threads) {
            thread.join();
        }
    }
};

/// Makes the system allocate all pages, on several threads, without changing their contents.
///
/// cudaHostRegister does it on one thread, at 2 to 4 GB/s.
void touch_pages(std::byte* begin, std::int64_t bytes) {
    const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
    const auto threads =
        std::min({bytes / bytes_worth_a_thread, max_threads, std::max<std::int64_t>(cores, 1)});
    if (threads < 2) {
        return;
    }
    const auto part = (bytes / threads + bytes_of_page - 1) / bytes_of_page * bytes_of_page;
    ThreadsToJoin at_work;  // joined also if a later thread cannot be started
    for (std::int64_t first = 0; first < bytes; first += part) {
        at_work.threads.push_back(start_quiet_thread("a thread that touches pages", [=] {
            for (auto at = first; at < std::min(first + part, bytes); at += bytes_of_page) {
                std::atomic_ref{reinterpret_cast<unsigned char&>(begin[at])}.fetch_or(0);
            }
        }));
    }
}

}  // namespace

void pin(std::byte* begin, std::int64_t bytes) {
    touch_pages(begin, bytes);
    const auto result = cudaHostRegister(begin, bytes, cudaHostRegisterPortable);
    if (result != cudaSuccess) {
        static_cast<void>(cudaGetLastError());  // clears the last error for later calls
        throw Error{ErrorKind::resource, "cannot pin " + std::to_string(bytes) +
                                             " bytes of the host's memory (" + cudaGetErrorName(result) +
                                             ": " + cudaGetErrorString(result) +
                                             "). The system may limit locked memory: check ulimit -l, and "
                                             "the limits of the job or its container."};
    }
}

}  // namespace ziggurat::device::cuda
