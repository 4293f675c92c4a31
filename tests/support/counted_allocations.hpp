/// Counts calls of operator new, for tests of code that must not allocate.
#pragma once

namespace ziggurat::test {

/// Calls of operator new in this process so far, by any thread.
long allocations_so_far();

/// Those since this was made.
class CountedAllocations {
  public:
    long allocations() const { return allocations_so_far() - begin_; }

  private:
    long begin_ = allocations_so_far();
};

}  // namespace ziggurat::test
