/// Stand-in for the CUDA runtime's header: as much of it as *_cuda.* files use.
#pragma once

#include "emulated_cuda/api.hpp"
#include "emulated_cuda/device.hpp"
#include "emulated_cuda/launch.hpp"
#include "emulated_cuda/matrix.hpp"
