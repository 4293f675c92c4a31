/// State of a running block; for block.cpp.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tests/emulated_cuda/fiber.hpp"

namespace emulated_cuda {

constexpr int max_threads = 1024;
constexpr int lanes = 32;
constexpr int max_warps = max_threads / lanes;

enum class State : unsigned char { fresh, ready, at_warp, at_block, ended };

struct Thread {
    State state = State::fresh;
    Fiber* fiber = nullptr;
    Place where = {};           ///< barrier at which it waits
    unsigned num_barriers = 0;  ///< block barriers reached so far
    unsigned num_exchanges = 0;
};

struct Warp {
    int num_waiting = 0;
    Place where = {};  ///< barrier that the first thread reached
    /// Values sent by lanes. Two buffers: the next exchange may start while lanes still read the previous
    /// one.
    std::array<std::array<std::uint64_t, lanes>, 2> sent = {};
};

/// Copies that a thread has started, but not waited for.
struct AsyncCopies {
    struct Copy {
        void* to;
        const void* from;  ///< null: zeros
        int bytes;
    };
    std::vector<Copy> started = {};  ///< not yet committed to a group
    std::deque<std::vector<Copy>> groups = {};
};

/// Shared memory with the alignment of the hardware.
struct alignas(128) SharedLine {
    std::array<unsigned char, 128> bytes;
};

struct Block {
    Fiber own;  ///< fiber of the scheduler
    std::array<Thread, max_threads> threads = {};
    std::array<Warp, max_warps> warps = {};
    int num_threads = 0;
    int num_waiting = 0;  ///< threads waiting at a block barrier
    int num_ended = 0;
    Place where = {};
    int current = 0;
    bool is_in_thread = false;
    bool is_backwards = true;  ///< alternates, which exposes missing barriers
    const std::function<void()>* work = nullptr;
    std::string failure = {};
    cudaError_t error = cudaSuccess;
    /// Addresses for order() and follow(): begin, end, and two alternating barriers.
    std::array<char, 4> orders = {};
    std::array<Fiber*, max_threads> idle = {};
    int num_idle = 0;
    std::array<AsyncCopies, max_threads> copies = {};
    std::vector<SharedLine> dynamic_shared = {};
};

/// Block of the calling system thread; nullptr before take_block().
extern constinit thread_local Block* the_block;

/// Gives the calling thread a block until the thread ends.
void take_block();

}  // namespace emulated_cuda
