/// Program and hardware with which rates are measured.
#pragma once

#include <string>

namespace ziggurat::app {

/// Returns the build of this program, its libraries, and the processors of this machine, as one text.
///
/// Measurements are comparable if it is equal: build and libraries choose the kernels, and the model and
/// number of processors limit their rate.
std::string measured_with();

}  // namespace ziggurat::app
