/// Distribution of rows over the threads of the compute lane; only *_host.cpp files include it.
#pragma once

#include <Kokkos_Core.hpp>
#include <atomic>
#include <cstdint>

namespace ziggurat::kernels::host {

/// Dispatches with a name only if a Kokkos tool is loaded, because creating its string allocates.
template <class Policy, class Body>
void dispatch(const char* name, const Policy& policy, const Body& body) {
    if (Kokkos::Tools::profileLibraryLoaded()) {
        Kokkos::parallel_for(name, policy, body);
    } else {
        Kokkos::parallel_for(policy, body);
    }
}

/// Calls body(i) for i in [0, count), with a contiguous range for each thread.
///
/// `body` must call a separate function for the loop over columns: g++ 12 does not vectorise a reduction in a
/// lambda that captures pointers.
template <class Body>
void for_rows(const char* name, std::int64_t count, const Body& body) {
    dispatch(name, Kokkos::RangePolicy<Kokkos::Schedule<Kokkos::Static>>(0, count), body);
}

/// Does the same for items of unequal cost, with dynamic scheduling.
template <class Body>
void for_items(const char* name, std::int64_t count, const Body& body) {
    dispatch(name, Kokkos::RangePolicy<Kokkos::Schedule<Kokkos::Dynamic>>(0, count).set_chunk_size(1), body);
}

/// Items [0, count) that workers take in order.
class Items {
  public:
    explicit Items(std::int64_t count) : count_{count} {}
    /// Returns the next item, or -1 if no item is left.
    std::int64_t next() {
        const auto item = next_.fetch_add(1, std::memory_order_relaxed);
        return item < count_ ? item : -1;
    }

  private:
    std::int64_t count_;
    std::atomic<std::int64_t> next_{0};
};

/// Calls work(items, worker) for all workers in [0, num_workers) in parallel.
///
/// Each worker takes items until no item is left. It keeps its state, such as scratch, from item to item.
template <class Work>
void for_items_of_workers(const char* name, std::int64_t count, int num_workers, const Work& work) {
    Items items{count};
    for_rows(name, num_workers, [&](std::int64_t worker) { work(items, static_cast<int>(worker)); });
}

}  // namespace ziggurat::kernels::host
