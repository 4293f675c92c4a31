#include "tests/support/simulated_ranks.hpp"

#include <cstdlib>

#include "schedule/build_program.hpp"

namespace ziggurat::test {

std::vector<schedule::Program> programs_of_all_ranks(const spec::RunSpec& spec, schedule::Variant variant) {
    std::vector<schedule::Program> programs;
    for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
        programs.push_back(schedule::build_program(spec, rank, variant));
    }
    return programs;
}

std::int64_t count_from_environment(const char* name, std::int64_t default_value) {
    const char* text = std::getenv(name);
    return text == nullptr ? default_value : std::atoll(text);
}

}  // namespace ziggurat::test
