#include "plan/scale_tiles.hpp"

#include <algorithm>
#include <map>

#include "plan/reduced_run.hpp"
#include "schedule/model_layout.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Buffer;
using schedule::Lifetime;
using schedule::ModelLayout;
using schedule::Op;
using schedule::OpKind;
using schedule::Program;

/// Returns the rows of the longest tile of a phase; 0 if it is not tiled.
std::int64_t tile_length(const layout::UnitTiling& tiling, std::size_t phase) {
    std::int64_t max = 0;
    for (const int segment : tiling.is_cut() ? tiling.of_phase[phase] : std::vector<int>{}) {
        max = std::max(max, tiling.segments[segment].rows.size());
    }
    return max;
}

/// Ratios of tile sizes between two runs, by unit and phase; for layers, by their kind.
class TileShrinkage {
  public:
    TileShrinkage(const ReducedRun& built, const spec::RunSpec& whole)
        : layers_{built.layers}, each_{RepresentativeLayers::one_of_each(whole)} {
        const ModelLayout before{each_.of(with_rules_of(whole, built.larger_tiles)), 0};
        const ModelLayout after{each_.of(whole), 0};
        for (std::size_t u = 0; u < before.tilings.size(); ++u) {
            factors_.emplace_back();
            for (std::size_t p = 0; p < before.table.units[u].phases.size(); ++p) {
                const auto from = tile_length(before.tilings[u], p);
                const auto to = tile_length(after.tilings[u], p);
                factors_.back().push_back(from > 0 ? static_cast<double>(to) / static_cast<double>(from) : 1);
            }
        }
        for (std::int64_t layer = 0; layer < each_.size(); ++layer) {
            unit_of_kind_[each_.kind(layer)] = static_cast<std::size_t>(layer) + 1;
        }
    }

    double of(const Op& op) const {
        const auto layer = static_cast<std::int64_t>(op.unit) - 1;
        const auto unit = layer < 0                ? 0
                          : layer < layers_.size() ? unit_of_kind_.at(layers_.kind(layer))
                                                   : factors_.size() - 1;
        return factors_[unit][op.phase];
    }

  private:
    static spec::RunSpec with_rules_of(spec::RunSpec spec, const std::vector<spec::TileRule>& rules) {
        spec.tiers.tiles = rules;
        return spec;
    }

    const RepresentativeLayers& layers_;
    RepresentativeLayers each_;
    std::map<int, std::size_t> unit_of_kind_;   ///< index in factors_
    std::vector<std::vector<double>> factors_;  ///< by unit of each_ and phase
};

/// True if an op works on one tile.
bool is_on_tile(const Op& op) {
    return op.segment >= 0 && op.column_end > op.column_begin && op.phase >= 0;
}

class TileBuffers {
  public:
    TileBuffers(const Program& program, const TileShrinkage& shrinkage)
        : program_{program}, found_(program.buffers.size()) {
        for (const auto& op : program.ops) {
            if (op.kind == OpKind::update) {
                visit(op, [&](Found& of_buffer, const Buffer&) { of_buffer.is_shared = true; });
            } else if (is_on_tile(op)) {
                visit(op, [&](Found& of_buffer, const Buffer& buffer) {
                    if (may_hold_tile(buffer)) {
                        use(of_buffer, op.segment, shrinkage.of(op));
                    }
                });
            }
        }
        // Gradients are moved after their op, parameters before it.
        for (const auto& op : program.ops) {
            follow(op);
        }
        for (auto op = program.ops.rbegin(); op != program.ops.rend(); ++op) {
            follow(*op);
        }
    }

    std::vector<double> factors() const {
        std::vector<double> made;
        for (const auto& of_buffer : found_) {
            made.push_back(of_buffer.is_tile() ? of_buffer.factor : 1);
        }
        return made;
    }

  private:
    struct Found {
        int segment = -1;
        double factor = 0;
        bool is_shared = false;  ///< used by several tiles, or by updates

        bool is_tile() const { return segment >= 0 && !is_shared; }
    };

    static bool is_staging(const Buffer& buffer) {
        return buffer.consumer == schedule::MemoryCategory::transfers;
    }

    static bool may_hold_tile(const Buffer& buffer) {
        return buffer.consumer == schedule::MemoryCategory::leases ||
               buffer.consumer == schedule::MemoryCategory::gradients || is_staging(buffer);
    }

    template <class Function>
    void visit(const Op& op, const Function& f) {
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                const std::size_t b = operand.buffer;
                if (program_.buffers[b].lifetime == Lifetime::transient) {
                    f(found_[b], program_.buffers[b]);
                }
            }
        }
    }

    static void use(Found& of_buffer, int segment, double factor) {
        of_buffer.is_shared = of_buffer.is_shared || (of_buffer.segment >= 0 && of_buffer.segment != segment);
        of_buffer.segment = segment;
        of_buffer.factor = std::max(of_buffer.factor, factor);
    }

    /// Marks the staging buffers of a tile's transfers; they hold the same part of the tile.
    void follow(const Op& op) {
        if (op.kind == OpKind::compute || op.kind == OpKind::loss) {
            return;
        }
        const Found* tile = nullptr;
        visit(op,
              [&](const Found& of_buffer, const Buffer&) { tile = of_buffer.is_tile() ? &of_buffer : tile; });
        if (tile != nullptr) {
            const Found known = *tile;
            visit(op, [&](Found& of_buffer, const Buffer& buffer) {
                if (is_staging(buffer) && of_buffer.segment < 0) {
                    use(of_buffer, known.segment, known.factor);
                }
            });
        }
    }

    const Program& program_;
    std::vector<Found> found_;  ///< by buffer
};

}  // namespace

std::vector<double> tile_factors(const schedule::Program& program,
                                 const ReducedRun& built,
                                 const spec::RunSpec& whole) {
    if (built.larger_tiles == whole.tiers.tiles) {
        return std::vector<double>(program.buffers.size(), 1);
    }
    return TileBuffers{program, TileShrinkage{built, whole}}.factors();
}

}  // namespace ziggurat::plan
