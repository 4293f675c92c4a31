#include "base/heap.hpp"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ziggurat {

void give_back_heap() noexcept {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace ziggurat
