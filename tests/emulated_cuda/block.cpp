#include "tests/emulated_cuda/block.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include "tests/emulated_cuda/block_state.hpp"
#include "tests/emulated_cuda/fiber.hpp"
#include "tests/emulated_cuda/kernel_name.hpp"

// With the thread sanitizer this file is compiled without it: here fibers share the state of the block.

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace emulated_cuda {
namespace {

std::string at(const Place& where) {
    return std::string{where.file_name()} + ":" + std::to_string(where.line());
}

bool is_same(const Place& a, const Place& b) {
    return a.line() == b.line() && a.file_name() == b.file_name();
}

Thread& me() {
    return the_block->threads[static_cast<std::size_t>(the_block->current)];
}

/// Suspends the calling thread until another thread makes it ready.
void pause(State state) {
    me().state = state;
    switch_fiber(*me().fiber, the_block->own);
}

void check_place(const Place& first, const Place& mine, const char* of) {
    if (!is_same(first, mine)) {
        print_kernel_end_reason("threads of one " + std::string{of} + " wait at " + at(first) + " and at " +
                                at(mine));
        end_kernel(cudaErrorLaunchFailure);
    }
}

#ifdef EMULATED_CUDA_THREAD_SANITIZER
// Each thread keeps its own fiber: the sanitizer considers a reused fiber ordered after its previous thread.
void take_fiber(Block&, Thread& thread) {
    thread.fiber = thread.fiber == nullptr ? make_fiber() : thread.fiber;
}
void give_back_fiber(Block&, Thread&) {}
#else
void take_fiber(Block& block, Thread& thread) {
    thread.fiber = block.num_idle > 0 ? block.idle[static_cast<std::size_t>(--block.num_idle)] : make_fiber();
}
void give_back_fiber(Block& block, Thread& thread) {
    block.idle[static_cast<std::size_t>(block.num_idle++)] = thread.fiber;
}
#endif

void run_thread() {
    Block& block = *the_block;
    begin_fiber(block.own);
    follow(&block.orders[0]);
    (*block.work)();
    order(&block.orders[1]);
    me().state = State::ended;
    ++block.num_ended;
    give_back_fiber(block, me());
    leave_fiber(*me().fiber, block.own);
}

/// Runs a thread until it waits or ends.
void resume(Block& block, int index) {
    auto& thread = block.threads[static_cast<std::size_t>(index)];
    if (thread.state == State::fresh) {
        take_fiber(block, thread);
        restart(*thread.fiber, run_thread);
        thread.state = State::ready;
    }
    block.current = index;
    const auto i = static_cast<unsigned>(index);
    threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
    block.is_in_thread = true;
    switch_fiber(block.own, *thread.fiber);
    block.is_in_thread = false;
}

/// Describes the barriers at which threads wait forever.
std::string standstill(const Block& block) {
    int ended = -1;
    for (int i = 0; i < block.num_threads; ++i) {
        if (block.threads[static_cast<std::size_t>(i)].state == State::ended) {
            ended = i;
        }
    }
    for (int i = 0; i < block.num_threads; ++i) {
        const auto& thread = block.threads[static_cast<std::size_t>(i)];
        if (thread.state == State::at_block || thread.state == State::at_warp) {
            return "thread " + std::to_string(i) + " waits at " + at(thread.where) +
                   (ended >= 0 ? ", and thread " + std::to_string(ended) + " has ended without coming there"
                               : ", and others wait elsewhere");
        }
    }
    return "";
}

/// Returns false if the block failed.
bool run_block(Block& block) {
    for (int i = 0; i < block.num_threads; ++i) {
        auto& thread = block.threads[static_cast<std::size_t>(i)];
        thread.state = State::fresh;
        thread.num_barriers = 0;
        thread.num_exchanges = 0;
    }
    for (auto& warp : block.warps) {
        warp.num_waiting = 0;
    }
    for (int i = 0; i < block.num_threads; ++i) {
        block.copies[static_cast<std::size_t>(i)] = {};
    }
    std::memset(block.dynamic_shared.data(), 0xff, block.dynamic_shared.size() * sizeof(SharedLine));
    block.num_waiting = 0;
    block.num_ended = 0;
    block.is_backwards = !block.is_backwards;
    order(&block.orders[0]);
    while (block.num_ended < block.num_threads) {
        bool has_moved = false;
        for (int n = 0; n < block.num_threads; ++n) {
            const int i = block.is_backwards ? block.num_threads - 1 - n : n;
            const auto state = block.threads[static_cast<std::size_t>(i)].state;
            if (state == State::fresh || state == State::ready) {
                resume(block, i);
                has_moved = true;
                if (!block.failure.empty()) {
                    return false;
                }
            }
        }
        if (!has_moved) {
            block.failure = standstill(block);
            block.error = cudaErrorLaunchFailure;
            return false;
        }
    }
    follow(&block.orders[1]);
    return true;
}

/// Returns the fibers of a failed block. Threads restart on their stacks.
void give_back_fibers(Block& block) {
    for (int i = 0; i < block.num_threads; ++i) {
        auto& thread = block.threads[static_cast<std::size_t>(i)];
        if (thread.state != State::fresh && thread.state != State::ended) {
            give_back_fiber(block, thread);
        }
    }
}

}  // namespace

std::string run_grid(const Grid& grid, cudaError_t& error) {
    take_block();
    Block& block = *the_block;
    block.num_threads = static_cast<int>(grid.threads.x * grid.threads.y * grid.threads.z);
    block.work = &grid.thread;
    block.dynamic_shared.resize((grid.shared_bytes + sizeof(SharedLine) - 1) / sizeof(SharedLine));
    blockDim = grid.threads;
    gridDim = grid.blocks;
    for (unsigned z = 0; z < grid.blocks.z; ++z) {
        for (unsigned y = 0; y < grid.blocks.y; ++y) {
            for (unsigned x = 0; x < grid.blocks.x; ++x) {
                blockIdx = {x, y, z};
                if (!run_block(block)) {
                    follow(&block.orders[1]);
                    give_back_fibers(block);
                    error = block.error;
                    return name_of_kernel(grid.kernel) + ", block (" + std::to_string(x) + ", " +
                           std::to_string(y) + ", " + std::to_string(z) +
                           "): " + std::exchange(block.failure, {});
                }
            }
        }
    }
    return {};
}

bool is_in_kernel() noexcept {
    return the_block != nullptr && the_block->is_in_thread;
}

void print_kernel_end_reason(std::string what) {
    the_block->failure = std::move(what);
}

void end_kernel(cudaError_t error) {
    the_block->error = error;
    order(&the_block->orders[1]);
    switch_fiber(*me().fiber, the_block->own);
    __builtin_unreachable();
}

void sync_block(const Place& where) {
    Block& block = *the_block;
    auto& mine = me();
    mine.where = where;
    auto* const barrier = &block.orders[2 + mine.num_barriers++ % 2];
    if (block.num_waiting == 0) {
        block.where = where;
    }
    check_place(block.where, where, "block");
    order(barrier);
    if (++block.num_waiting < block.num_threads) {
        pause(State::at_block);
    } else {
        block.num_waiting = 0;
        for (int i = 0; i < block.num_threads; ++i) {
            block.threads[static_cast<std::size_t>(i)].state = State::ready;
        }
    }
    follow(barrier);
}

const std::uint64_t* exchange(std::uint64_t bits, const Place& where) {
    Block& block = *the_block;
    auto& mine = me();
    auto& warp = block.warps[static_cast<std::size_t>(block.current / lanes)];
    mine.where = where;
    auto& sent = warp.sent[mine.num_exchanges++ % 2];
    if (warp.num_waiting == 0) {
        warp.where = where;
    }
    check_place(warp.where, where, "warp");
    sent[static_cast<std::size_t>(block.current % lanes)] = bits;
    order(&sent);
    if (++warp.num_waiting < lanes) {
        pause(State::at_warp);
    } else {
        warp.num_waiting = 0;
        const int first = block.current / lanes * lanes;
        for (int i = first; i < first + lanes; ++i) {
            block.threads[static_cast<std::size_t>(i)].state = State::ready;
        }
    }
    follow(&sent);
    return sent.data();
}

void sync_warp(const Place& where) {
    exchange(0, where);
}

int lane() {
    return the_block->current % lanes;
}

void refuse(const char* what, const Place& where) {
    print_kernel_end_reason(at(where) + " asks for " + what + ", which the emulated GPU has not");
    end_kernel(cudaErrorLaunchFailure);
}

void trap(const Place& where) {
    print_kernel_end_reason("it gave up at " + at(where));
    end_kernel(cudaErrorLaunchFailure);
}

}  // namespace emulated_cuda
