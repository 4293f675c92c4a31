/// Activations that are kept for backward leave the device and come back.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Gives what forward keeps for backward a home outside of the device, where tiers.home.activations says so.
///
/// Each kept buffer leaves as soon as forward has made it, and is back, in another buffer of the device,
/// overlap.prefetch passes of units before backward asks for it. On NVMe both ways lead through a buffer on
/// the host. Of shares, what forward makes first goes to NVMe, then to the host: it is away the longest. What
/// forward uses last in the head's pass and backward wants there stays: it would be wanted before it is gone.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 5.2.3 (activation checkpoints).
void activation_pass(Draft& draft, const spec::RunSpec& spec);

}  // namespace ziggurat::schedule
