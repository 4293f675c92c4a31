#include "tests/emulated_cuda/fault.hpp"

#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>

#include "tests/emulated_cuda/block.hpp"
#include "tests/emulated_cuda/memory.hpp"

namespace emulated_cuda {
namespace {

struct sigaction action_before {};
thread_local Touched last_touched;

/// Continuation of a kernel that accessed memory outside of its allocations.
void end_by_fault() {
    print_kernel_end_reason("byte " + std::to_string(last_touched.byte) + " of " +
                            std::to_string(last_touched.bytes) + " of a GPU's memory was touched");
    end_kernel(cudaErrorIllegalAddress);
}

/// Continuation of a kernel that accessed no GPU memory, for example a null pointer.
void end_by_stray() {
    print_kernel_end_reason("an address was touched that is no memory");
    end_kernel(cudaErrorIllegalAddress);
}

void go_on_with(void (*function)(), ucontext_t& context) {
    auto& registers = context.uc_mcontext.gregs;
    constexpr std::uintptr_t red_zone = 128;
    const auto stack = (static_cast<std::uintptr_t>(registers[REG_RSP]) - red_zone) / 16 * 16 - 8;
    registers[REG_RSP] = static_cast<greg_t>(stack);
    registers[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(function));
}

void on_fault(int, siginfo_t* info, void* context) {
    constexpr std::uintptr_t near_null = 1 << 16;
    const auto touch = touched(info->si_addr);
    if (is_in_kernel()) {
        if (touch.is_known) {
            last_touched = touch;
            go_on_with(end_by_fault, *static_cast<ucontext_t*>(context));
            return;
        }
        if (reinterpret_cast<std::uintptr_t>(info->si_addr) < near_null) {
            go_on_with(end_by_stray, *static_cast<ucontext_t*>(context));
            return;
        }
    }
    if (touch.is_known) {
        std::fprintf(stderr,
                     "emulated CUDA: a thread of the host touched byte %lld of %lld of a GPU's memory\n",
                     touch.byte, touch.bytes);
    }
    sigaction(SIGSEGV, &action_before, nullptr);  // the fault repeats with the previous handler
}

}  // namespace

void report_of_faults() {
    [[maybe_unused]] static const bool is_set_up = [] {
        struct sigaction action {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO;
        return sigaction(SIGSEGV, &action, &action_before) == 0;
    }();
}

}  // namespace emulated_cuda
