/// Processors that tests of whole assemblies work with.
#pragma once

#include "device/device.hpp"

namespace ziggurat::test {

device::Processors processors_for_tests(int num_threads);

}  // namespace ziggurat::test
