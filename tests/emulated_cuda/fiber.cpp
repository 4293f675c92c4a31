#include "tests/emulated_cuda/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EMULATED_CUDA_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
}
#endif

#ifndef __x86_64__
#error "ZIGGURAT_CUDA=emulated: switch_stacks is written for x86-64 alone. Add this processor's."
#endif

// Saves the callee-saved registers, and continues where `to` called this function.
asm(R"(
.text
.globl emulated_cuda_switch_stacks
.type emulated_cuda_switch_stacks, @function
emulated_cuda_switch_stacks:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emulated_cuda_switch_stacks, .-emulated_cuda_switch_stacks
)");
extern "C" void emulated_cuda_switch_stacks(void** from, void* to);

namespace emulated_cuda {
namespace {

constexpr std::size_t guard_bytes = 4096;
constexpr std::size_t stack_bytes = std::size_t{256} << 10;

void change_stacks(Fiber& from, Fiber& to, [[maybe_unused]] bool returns) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(returns ? &from.fake_stack : nullptr, to.stack, to.stack_bytes);
#endif
#ifdef EMULATED_CUDA_THREAD_SANITIZER
    __tsan_switch_to_fiber(to.known_as, __tsan_switch_to_fiber_no_sync);
#endif
    emulated_cuda_switch_stacks(&from.stack_pointer, to.stack_pointer);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

}  // namespace

Fiber* make_fiber() {
    auto* const memory = mmap(nullptr, stack_bytes + guard_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, guard_bytes, PROT_NONE) != 0) {
        std::perror("emulated CUDA: no memory for the stack of a thread");
        std::abort();
    }
    auto* const fiber = new Fiber{};
    fiber->stack = static_cast<std::byte*>(memory) + guard_bytes;
    fiber->stack_bytes = stack_bytes;
#ifdef EMULATED_CUDA_THREAD_SANITIZER
    fiber->known_as = __tsan_create_fiber(0);
#endif
    return fiber;
}

void adopt_thread([[maybe_unused]] Fiber& fiber) {
#ifdef EMULATED_CUDA_THREAD_SANITIZER
    fiber.known_as = __tsan_get_current_fiber();
#endif
}

void restart(Fiber& fiber, void (*entry)()) {
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(fiber.stack, fiber.stack_bytes);  // left poisoned by a failed kernel
#endif
    // Stack as switch_stacks expects it: six registers and the return address. The entry's own return
    // address after them is never used, and aligns the stack as a call does.
    auto* const top = reinterpret_cast<void**>(fiber.stack + fiber.stack_bytes);
    top[-1] = nullptr;
    top[-2] = reinterpret_cast<void*>(entry);
    for (int i = 3; i <= 8; ++i) {
        top[-i] = nullptr;
    }
    fiber.stack_pointer = top - 8;
}

void switch_fiber(Fiber& from, Fiber& to) {
    change_stacks(from, to, true);
}

void leave_fiber(Fiber& from, Fiber& to) {
    change_stacks(from, to, false);
}

void begin_fiber([[maybe_unused]] Fiber& from) {
#ifdef __SANITIZE_ADDRESS__
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    from.stack = static_cast<std::byte*>(const_cast<void*>(bottom));
    from.stack_bytes = bytes;
#endif
}

void order([[maybe_unused]] void* address) {
#ifdef EMULATED_CUDA_THREAD_SANITIZER
    __tsan_release(address);
#endif
}

void follow([[maybe_unused]] void* address) {
#ifdef EMULATED_CUDA_THREAD_SANITIZER
    __tsan_acquire(address);
#endif
}

Unseen::Unseen() {
#ifdef EMULATED_CUDA_THREAD_SANITIZER
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
#endif
}

Unseen::~Unseen() {
#ifdef EMULATED_CUDA_THREAD_SANITIZER
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

}  // namespace emulated_cuda
