/// A block while it runs; for block.cpp.
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
    Place where = {};           ///< of the barrier that it is at
    unsigned num_barriers = 0;  ///< of the block that it has come to
    unsigned num_exchanges = 0;
};

struct Warp {
    int num_waiting = 0;
    Place where = {};  ///< of the barrier that the first one came to
    /// What lanes send. Of two exchanges, for one that begins while lanes still read.
    std::array<std::array<std::uint64_t, lanes>, 2> sent = {};
};

/// Copies that a thread has started and not waited for.
struct AsyncCopies {
    struct Copy {
        void* to;
        const void* from;  ///< null: zeros
        int bytes;
    };
    std::vector<Copy> started = {};  ///< in no group yet
    std::deque<std::vector<Copy>> groups = {};
};

/// As the hardware aligns it.
struct alignas(128) SharedLine {
    std::array<unsigned char, 128> bytes;
};

struct Block {
    Fiber own;  ///< where threads are chosen
    std::array<Thread, max_threads> threads = {};
    std::array<Warp, max_warps> warps = {};
    int num_threads = 0;
    int num_waiting = 0;  ///< for the block
    int num_ended = 0;
    Place where = {};
    int current = 0;
    bool is_in_thread = false;
    bool is_backwards = true;  ///< every other time: what no barrier orders goes wrong the sooner
    const std::function<void()>* work = nullptr;
    std::string failure = {};
    cudaError_t error = cudaSuccess;
    /// Addresses that stand for what orders threads: begin, end, and two barriers in turn.
    std::array<char, 4> orders = {};
    std::array<Fiber*, max_threads> idle = {};
    int num_idle = 0;
    std::array<AsyncCopies, max_threads> copies = {};
    std::vector<SharedLine> dynamic_shared = {};
};

/// Of the thread of the system; nothing before take_block().
extern constinit thread_local Block* the_block;

/// Gives the calling thread a block, until the thread ends.
void take_block();

}  // namespace emulated_cuda
