/// Pages of a KV cache that move between its home and the device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/enum_array.hpp"
#include "device/stream.hpp"
#include "layout/cache/kv_cache.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
#include "train/ops/action.hpp"

namespace ziggurat::train {

/// Returns the layers whose page table gives the pages of the cache of `unit`.
layout::CacheLayers cache_layers_of(const schedule::ModelLayout& model, layout::UnitId unit);

/// Binds the copies of cache pages between host and device (kv_cache_pass).
class CachePages {
  public:
    CachePages(const spec::RunSpec& spec, const schedule::ModelLayout& model);

    /// Sets the pages that sequences have, and those among them that the next pass changes.
    void set(layout::CacheLayers layers,
             std::span<const std::int32_t> in_use,
             std::span<const std::int32_t> changed);

    static bool is_copy_of_pages(const schedule::Program& program, const schedule::Op& op) {
        return program.find_read(op, schedule::Role::kv_cache) != nullptr;
    }
    /// Binds a copy to the device, of the pages in use, or from it, of the changed pages.
    ///
    /// \param stream  stream of the op's lane; must not move. This object must not move either
    Action bind(const schedule::Program& program,
                const schedule::Op& op,
                const state::TierMemory& memory,
                const device::Stream& stream);

  private:
    /// Consecutive pages.
    struct Run {
        std::int64_t first = 0, count = 0;
    };
    struct OfLayers {
        std::vector<Run> in_use, changed;
    };
    static void set_runs(std::span<const std::int32_t> pages, std::vector<Run>& runs);

    const schedule::ModelLayout& model_;
    std::int64_t page_bytes_;
    EnumArray<layout::CacheLayers, OfLayers, 2> of_layers_;
};

}  // namespace ziggurat::train
