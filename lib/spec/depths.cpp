#include "spec/depths.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "spec/fates.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::spec {
namespace {

template <class Predicate>
bool is_any_home(const RunSpec& run, const Predicate& is_so) {
    return is_any_stage(run, [&](const StageState& of) {
        return std::ranges::any_of(std::array{of.parameters, of.gradients, of.optimizer, of.activations},
                                   is_so);
    });
}

}  // namespace

bool speculates(const RunSpec& run) {
    return run.overlap.optimizer_with_backward && run.optimizer.clip == ClipPolicy::global;
}

bool is_any_state_away(const RunSpec& run) {
    return run.tiers.embedding_on_host ||
           is_any_home(run, [](const Home& home) { return home.device < 1; }) ||
           is_any_stage(run, [](const StageState& of) { return swaps_any(of.recompute.fates); });
}

bool is_any_state_on_nvme(const RunSpec& run) {
    return is_any_home(run, [](const Home& home) { return home.nvme > 0; }) ||
           is_any_stage(
               run, [](const StageState& of) { return has_fate(of.recompute.fates, ActivationFate::nvme); });
}

bool are_optimizer_states_on_nvme(const RunSpec& run) {
    return is_any_stage(run, [](const StageState& of) { return of.optimizer.nvme > 0; });
}

bool has_auto_home(const RunSpec& run) {
    return is_any_stage(run, [](const StageState& of) { return of.open.any(); });
}

bool has_auto_recomputation(const RunSpec& run) {
    return is_any_stage(run, [](const StageState& of) { return of.recompute.is_auto; });
}

std::int64_t chunk_at_rest(DeviceKind device) {
    return std::int64_t{device == DeviceKind::cuda ? 64 : 4} << 20;
}

Depths depths_at_rest(const RunSpec& spec, AutoDepths open) {
    Depths depths;
    depths.prefetch = spec.overlap.prefetch;
    depths.optimizer_prefetch = spec.overlap.optimizer_prefetch;
    depths.chunk_elements = spec.tiers.chunk_elements;
    if (open.prefetch) {
        depths.prefetch = 1;
        depths.prefetch_reason = "one segment ahead";
    }
    if (open.optimizer_prefetch) {
        depths.optimizer_prefetch = 0;
        depths.optimizer_prefetch_reason = "no optimizer states on NVMe";
    }
    if (open.chunk) {
        depths.chunk_elements = chunk_at_rest(spec.tiers.device);
        depths.chunk_reason = spec.tiers.device == DeviceKind::cuda ? "256 MiB of fp32" : "16 MiB of fp32";
    }
    return depths;
}

std::int64_t usual_chunk(std::int64_t elements) {
    constexpr std::int64_t chunks_of_rank = 8;
    constexpr std::int64_t min = std::int64_t{512} << 10;
    constexpr std::int64_t max = std::int64_t{4} << 20;
    const auto wanted = std::max<std::int64_t>(1, elements / chunks_of_rank);
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(wanted)));
    return std::clamp(power, min, max);
}

}  // namespace ziggurat::spec
