#include "app/bench/kept_peak.hpp"

#include "app/bench/measured_with.hpp"
#include "app/bench/peak_cache.hpp"

namespace ziggurat::app {

KeptPeakOf kept_peaks_here() {
    return [](const spec::RunSpec& run) {
        return PeakCache{deck::process_environment, measured_with()}.of(setup_name(run));
    };
}

}  // namespace ziggurat::app
