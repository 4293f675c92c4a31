#include "app/start/heap_policy.hpp"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ziggurat::app {

void choose_heap_policy([[maybe_unused]] bool runs_model) noexcept {
#ifdef __GLIBC__
    if (runs_model) {
        mallopt(M_ARENA_MAX, 1);
    } else {
        mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the maximum
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
        mallopt(M_TOP_PAD, 16 << 20);
    }
    mallopt(M_MXFAST, 0);
#endif
}

}  // namespace ziggurat::app
