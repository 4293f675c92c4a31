/// Fibers: stacks between which one thread of the system goes back and forth.
#pragma once

#include <cstddef>

namespace emulated_cuda {

/// A place that can be left and come back to: that of the thread itself, or one with a stack of its own.
struct Fiber {
    void* stack_pointer = nullptr;
    // Of a stack of its own; for the thread's, where the address sanitizer found it.
    std::byte* stack = nullptr;
    std::size_t stack_bytes = 0;
    void* fake_stack = nullptr;  ///< of the address sanitizer
    void* known_as = nullptr;    ///< to the thread sanitizer
};

/// Makes a fiber with a stack, below which lies a page that faults. It lives as long as the process.
Fiber* make_fiber();
/// The place of the calling thread, which is none of make_fiber's.
void adopt_thread(Fiber& fiber);
/// Has `fiber` begin with `entry` when it is switched to; where it was before is forgotten.
void restart(Fiber& fiber, void (*entry)());

/// Leaves `from` for `to`, until somebody switches back.
void switch_fiber(Fiber& from, Fiber& to);
/// The same from a fiber that is not come back to before it is restarted.
void leave_fiber(Fiber& from, Fiber& to);
/// The first thing that an `entry` calls.
///
/// \param from  where it was switched from
void begin_fiber(Fiber& from);

/// To the thread sanitizer: what was done before `order` somewhere is done before what is done after
/// `follow` of the same address. Switches alone order nothing.
void order(void* address);
void follow(void* address);

/// What the calling thread does while this lives neither orders anything to the thread sanitizer nor races.
class Unseen {
  public:
    Unseen();
    ~Unseen();
    Unseen(const Unseen&) = delete;
    Unseen& operator=(const Unseen&) = delete;
};

}  // namespace emulated_cuda
