/// KV caches whose home is not the device.
#pragma once

#include "schedule/expand/expand.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Moves the cache of each layer from its home (tiers.kv_cache) to the device for attention, and back.
///
/// The operands name whole caches. The trainer moves fewer bytes between host and device: only pages that
/// sequences have, and back only pages that the pass has changed (train::CachePages). Those transfers have
/// operands in the role kv_cache.
void kv_cache_pass(ProgramBuilder& draft, const spec::RunSpec& spec);

}  // namespace ziggurat::schedule
