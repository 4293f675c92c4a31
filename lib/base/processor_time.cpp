#include "base/processor_time.hpp"

#include <ctime>

namespace ziggurat {

double processor_seconds() noexcept {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace ziggurat
