/// Processor time of this process.
#pragma once

namespace ziggurat {

/// Returns the seconds for which the threads of this process have used processors.
double processor_seconds() noexcept;

}  // namespace ziggurat
