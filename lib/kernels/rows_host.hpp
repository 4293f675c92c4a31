/// Spreads rows over the threads of the compute lane; only *_host.cpp files include it.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace ziggurat::kernels::host {

/// Calls body(i) for i in [0, count), each thread a contiguous run. `body` calls a function of its own for
/// the loop over columns: a reduction inside a lambda that captures pointers is not vectorised by g++ 12.
template <class Body>
void for_rows(const char* name, std::int64_t count, const Body& body) {
    Kokkos::parallel_for(name, Kokkos::RangePolicy<Kokkos::Schedule<Kokkos::Static>>(0, count), body);
}

/// The same for items of unlike cost: whoever is free takes the next.
template <class Body>
void for_items(const char* name, std::int64_t count, const Body& body) {
    Kokkos::parallel_for(
        name, Kokkos::RangePolicy<Kokkos::Schedule<Kokkos::Dynamic>>(0, count).set_chunk_size(1), body);
}

}  // namespace ziggurat::kernels::host
