#include "schedule/verify/simulate.hpp"

#include "base/contract.hpp"
#include "schedule/verify/simulate_lanes.hpp"

namespace ziggurat::schedule {

const char* to_string(FindingKind kind) {
    constexpr const char* names[] = {"malformed",
                                     "deadlock",
                                     "collective mismatch",
                                     "unmatched message",
                                     "unwritten read",
                                     "overwritten read",
                                     "stale read",
                                     "wrong sum",
                                     "wrong gradient",
                                     "wrong state",
                                     "race",
                                     "memory",
                                     "lease"};
    return names[static_cast<int>(kind)];
}

std::string SimulationResult::report() const {
    std::string text;
    for (const auto& finding : findings) {
        text += std::string{to_string(finding.kind)} + ": " + finding.text + "\n";
    }
    return text;
}

SimulationResult simulate(const std::vector<Program>& programs,
                          const ExpectedResults* truth,
                          const SimulationOptions& options) {
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
        ZG_EXPECTS(programs[rank].rank == static_cast<int>(rank));
    }
    return simulation::Simulation{programs, truth, options}.run(truth);
}

}  // namespace ziggurat::schedule
