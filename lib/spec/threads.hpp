/// The most threads that a rank can have.
#pragma once

namespace ziggurat::spec {

/// Kokkos keeps a table of so many, and looks no further.
constexpr int most_threads = 512;

}  // namespace ziggurat::spec
