/// Counts calls of operator new, for tests of code that must not allocate.
#pragma once

namespace ziggurat::test {

/// Calls of operator new so far by the calling thread: others, such as a watchdog's, have their own right to
/// allocate.
long allocations_so_far();

/// Those since this was made, by the thread that made it.
class CountedAllocations {
  public:
    long allocations() const { return allocations_so_far() - begin_; }

  private:
    long begin_ = allocations_so_far();
};

}  // namespace ziggurat::test
