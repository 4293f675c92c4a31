#include "layout/tiling.hpp"

#include <algorithm>
#include <string>

#include "base/contract.hpp"
#include "layout/families/adapters.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::layout {
namespace {

bool is_weight(const Parameter& parameter) {
    return parameter.role == Role::weight || parameter.role == Role::table;
}

/// Returns the rule for a phase; nullptr if no rule matches one of its weights.
const spec::TileRule* rule_of(const spec::Tiers& tiers,
                              const FamilyTable& table,
                              std::size_t unit,
                              const Phase& phase) {
    for (const auto& rule : tiers.tiles) {
        for (const auto& use : phase.parameters) {
            const auto owner = use.unit < 0 ? unit : static_cast<std::size_t>(use.unit);
            const auto& parameter = table.units[owner].parameters[use.parameter];
            if (is_weight(parameter) && spec::names_tensor(rule.match, parameter.name)) {
                return &rule;
            }
        }
    }
    return nullptr;
}

std::int64_t vocabulary_rows(const FamilyTable& table) {
    for (const auto& phase : table.units.back().phases) {
        if (phase.kind == PhaseKind::logits) {
            return phase.out;
        }
    }
    return 0;
}

bool is_of_vocabulary(const Phase& phase) {
    return phase.kind == PhaseKind::embedding || phase.kind == PhaseKind::logits;
}

/// Returns the ranges of a unit's flat range that a phase uses in rows [begin, end).
///
/// The rows are those of its tiled dimension.
///
/// Parts of one matrix or vector are adjacent, so they form one range.
std::vector<ElementRange> ranges_of(
    const Unit& unit, const Phase& phase, const FlatLayout& flat, ElementRange rows, std::int64_t in) {
    std::vector<ElementRange> found;
    // Role of the parameter found last.
    std::optional<Role> role;
    for (const auto& use : phase.parameters) {
        if (use.unit >= 0) {
            continue;
        }
        const auto& parameter = unit.parameters[use.parameter];
        const auto range = flat.parameter(use.parameter);
        const bool is_cut = !rows.empty();
        if (is_cut && phase.kind == PhaseKind::embedding && parameter.role != Role::table) {
            continue;
        }
        if (is_cut && is_of_adapter(parameter.role)) {
            continue;
        }
        if (is_cut && parameter.role == role) {
            // Joined to the previous range.
            continue;
        }
        if (!is_cut && parameter.joined_to_previous && parameter.role == role) {
            found.back().end = range.end;
            continue;
        }
        role = parameter.role;
        const auto width = is_weight(parameter) ? in : 1;
        const auto cut = ElementRange{range.begin + rows.begin * width, range.begin + rows.end * width};
        found.push_back(is_cut ? cut : range);
    }
    std::sort(found.begin(), found.end(),
              [](const ElementRange& a, const ElementRange& b) { return a.begin < b.begin; });
    return found;
}

/// Returns the segment of the adapters of a tiled phase: all its A, and all its B.
Segment segment_of_adapters(const Unit& unit, const Phase& phase, const FlatLayout& flat) {
    Phase adapters = phase;
    std::erase_if(adapters.parameters, [&](const ParameterUse& use) {
        return use.unit >= 0 || !is_of_adapter(unit.parameters[use.parameter].role);
    });
    return {.phase = -1, .rows = {}, .ranges = ranges_of(unit, adapters, flat, {}, 0)};
}

UnitTiling tiling_of(const Unit& unit,
                     const FlatLayout& flat,
                     const std::vector<const spec::TileRule*>& rules,
                     const std::vector<std::int64_t>& weight_rows) {
    UnitTiling made;
    made.of_phase.resize(unit.phases.size());
    if (std::all_of(rules.begin(), rules.end(), [](const auto* rule) { return rule == nullptr; })) {
        return made;
    }
    const auto add = [&](std::size_t phase, Segment segment) {
        segment.phase = static_cast<int>(phase);
        made.of_phase[phase].push_back(static_cast<int>(made.segments.size()));
        made.segments.push_back(std::move(segment));
    };
    for (std::size_t p = 0; p < unit.phases.size(); ++p) {
        const auto& phase = unit.phases[p];
        if (rules[p] == nullptr) {
            if (!phase.parameters.empty()) {
                add(p, {.phase = -1, .rows = {}, .ranges = ranges_of(unit, phase, flat, {}, 0)});
            }
            continue;
        }
        const auto granule = is_of_vocabulary(phase) ? vocabulary_tile_rows : tile_rows;
        const auto in = phase.kind == PhaseKind::embedding
                            ? flat.parameter(phase.parameters.front().parameter).size() / weight_rows[p]
                            : phase.in;
        for (const auto& rows : tile_runs(weight_rows[p], rules[p]->out, granule)) {
            add(p, {.phase = -1, .rows = rows, .ranges = ranges_of(unit, phase, flat, rows, in)});
        }
        if (phase.kind == PhaseKind::embedding) {
            Segment shared;
            for (const auto& use : phase.parameters) {
                if (unit.parameters[use.parameter].role != Role::table) {
                    shared.ranges.push_back(flat.parameter(use.parameter));
                }
            }
            add(p, std::move(shared));
        } else if (!phase.adapters.empty()) {
            add(p, segment_of_adapters(unit, phase, flat));
        }
    }
    return made;
}

}  // namespace

bool UnitTiling::cuts(int phase) const {
    return is_cut() && !of_phase[phase].empty() && !segments[of_phase[phase].front()].rows.empty();
}

int UnitTiling::segment_at(std::int64_t element) const {
    for (std::size_t s = 0; s < segments.size(); ++s) {
        for (const auto& range : segments[s].ranges) {
            if (range.begin <= element && element < range.end) {
                return static_cast<int>(s);
            }
        }
    }
    return -1;
}

std::vector<ElementRange> tile_runs(std::int64_t rows, int tiles, std::int64_t granule) {
    ZG_EXPECTS(rows > 0 && tiles > 0);
    const auto each = (rows + tiles - 1) / tiles;
    const auto length = (each + granule - 1) / granule * granule;
    std::vector<ElementRange> runs;
    for (std::int64_t begin = 0; begin < rows; begin += length) {
        runs.push_back({begin, std::min(rows, begin + length)});
    }
    return runs;
}

std::vector<UnitTiling> tilings(const spec::Tiers& tiers,
                                const FamilyTable& table,
                                const std::vector<FlatLayout>& flats) {
    std::vector<UnitTiling> made;
    for (std::size_t u = 0; u < table.units.size(); ++u) {
        const auto& unit = table.units[u];
        std::vector<const spec::TileRule*> rules;
        std::vector<std::int64_t> rows;
        for (const auto& phase : unit.phases) {
            rules.push_back(rule_of(tiers, table, u, phase));
            rows.push_back(phase.kind == PhaseKind::embedding ? vocabulary_rows(table) : phase.out);
        }
        made.push_back(tiling_of(unit, flats[u], rules, rows));
    }
    return made;
}

}  // namespace ziggurat::layout
