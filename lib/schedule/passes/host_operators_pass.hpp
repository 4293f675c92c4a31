/// Copies of activations for operators that run on the host.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Gives ops of Program::operator_lane host copies of values that they share with the device.
///
/// The output of a lookup is written on the host and copied to the device after the last op that writes it.
/// The gradient of the output is copied to the host before the first op that reads it. Only these copies
/// cross the link, because the table and its gradient stay on the host (Buffer::stays_on_host).
///
/// Source: Fang et al., "PatrickStar", 2021, section 8.2 (embedding on the CPU).
///
/// \pre no pass has moved state between tiers or copied control values
void host_operators_pass(ProgramBuilder& draft, const ModelLayout& model);

}  // namespace ziggurat::schedule
