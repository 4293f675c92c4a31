/// Counts calls of operator new, for tests of code that must not allocate.
#pragma once

namespace ziggurat::test {

/// Returns the calls of operator new so far by the calling thread.
///
/// Other threads, such as the watchdog's, may allocate.
long allocations_so_far();

/// Number of allocations since construction, by the constructing thread.
class CountedAllocations {
  public:
    long allocations() const { return allocations_so_far() - begin_; }

  private:
    long begin_ = allocations_so_far();
};

}  // namespace ziggurat::test
