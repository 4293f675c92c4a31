/// Fibers: stacks between which one system thread switches.
#pragma once

#include <cstddef>

namespace emulated_cuda {

/// Point of execution that can be suspended and resumed: a thread's own, or one with a separate stack.
struct Fiber {
    void* stack_pointer = nullptr;
    // Own stack; for the thread's fiber, the stack as reported by the address sanitizer.
    std::byte* stack = nullptr;
    std::size_t stack_bytes = 0;
    void* fake_stack = nullptr;  ///< fake stack of the address sanitizer
    void* known_as = nullptr;    ///< handle of the thread sanitizer
};

/// Makes a fiber with a stack and a guard page below it. It lives as long as the process.
Fiber* make_fiber();
/// Makes `fiber` the fiber of the calling thread itself.
void adopt_thread(Fiber& fiber);
/// Makes `fiber` start with `entry` at the next switch to it, and discards its previous state.
void restart(Fiber& fiber, void (*entry)());

/// Suspends `from` and runs `to`, until another fiber switches back.
void switch_fiber(Fiber& from, Fiber& to);
/// Same, for a fiber that is restarted before the next switch to it.
void leave_fiber(Fiber& from, Fiber& to);
/// Must be the first call of an `entry`.
///
/// \param from  fiber that switched to this one
void begin_fiber(Fiber& from);

/// Orders for the thread sanitizer: code before order() happens before code after follow() of the same
/// address.
///
/// Switches of fibers alone do not order anything.
void order(void* address);
void follow(void* address);

/// Scope in which the thread sanitizer ignores the calling thread: no ordering and no races.
class Unseen {
  public:
    Unseen();
    ~Unseen();
    Unseen(const Unseen&) = delete;
    Unseen& operator=(const Unseen&) = delete;
};

}  // namespace emulated_cuda
