/// Maximum number of threads of a rank.
#pragma once

namespace ziggurat::spec {

/// Size of the thread table in Kokkos.
constexpr int max_threads = 512;

}  // namespace ziggurat::spec
