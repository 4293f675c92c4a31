#include "tests/support/test_processors.hpp"

namespace ziggurat::test {

device::Processors processors_for_tests(int num_threads) {
    return device::Processors::of_host(num_threads);
}

}  // namespace ziggurat::test
