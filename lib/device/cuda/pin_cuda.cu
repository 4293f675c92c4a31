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
constexpr std::int64_t most_threads = 16;

/// Waits for its threads when it goes out of scope.
struct ThreadsToJoin {
    std::vector<std::thread> threads;

    ~ThreadsToJoin() {
        for (auto& thread : threads) {
            thread.join();
        }
    }
};

/// Makes the system find memory for all pages, on several threads: cudaHostRegister does it on one, at 2 to 4
/// GB/s. The bytes keep their values.
void touch_pages(std::byte* begin, std::int64_t bytes) {
    const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
    const auto threads =
        std::min({bytes / bytes_worth_a_thread, most_threads, std::max<std::int64_t>(cores, 1)});
    if (threads < 2) {
        return;
    }
    const auto part = (bytes / threads + bytes_of_page - 1) / bytes_of_page * bytes_of_page;
    ThreadsToJoin at_work;  // joined also where a later thread cannot be started
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
    const auto result = cudaHostRegister(begin, static_cast<std::size_t>(bytes), cudaHostRegisterPortable);
    if (result != cudaSuccess) {
        static_cast<void>(cudaGetLastError());  // which nothing behind it is to blame for
        throw Error{ErrorKind::resource, "cannot pin " + std::to_string(bytes) +
                                             " bytes of the host's memory (" + cudaGetErrorName(result) +
                                             ": " + cudaGetErrorString(result) +
                                             "). The system may limit what is locked: see ulimit -l, and "
                                             "what the job or its container is granted."};
    }
}

}  // namespace ziggurat::device::cuda
