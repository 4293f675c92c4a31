#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "layout/mesh.hpp"
#include "plan/arena_sizes.hpp"
#include "plan/reduced_run.hpp"
#include "plan/scale_tiles.hpp"
#include "schedule/expand/expand.hpp"
#include "schedule/passes/optimizer_pass.hpp"
#include "schedule/passes/save_ring_pass.hpp"
#include "schedule/passes/transfer_pass.hpp"
#include "schedule/place/place_buffers.hpp"
#include "schedule/residency/homes.hpp"
#include "spec/depths.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Buffer;
using schedule::Lifetime;
using schedule::OpKind;
using schedule::Program;
using schedule::StateKind;

bool is_of_layer(const Buffer& buffer, const ReducedRun& built) {
    return buffer.unit >= 1 && buffer.unit <= built.layers.size();
}

std::int64_t times(std::int64_t bytes, double factor) {
    return static_cast<std::int64_t>(std::llround(static_cast<double>(bytes) * factor));
}

/// Limits of the growth of unused memory between transient buffers: 1/n of their growth. This is the
/// limit of place_buffers for shorter waits; half on the host, where activations also have their own region
/// (see regions.hpp).
constexpr std::int64_t max_idle = 8;
constexpr std::int64_t max_idle_on_host = 2;

/// Lower limits of unused memory, by arena: 1/n of the largest sum of live bytes; 0: none.
///
/// The device's arenas have the limits of holes of schedule/place, which they reach if the placement does not
/// need fewer. Host arenas are placed for short waits, with a limit that rather overestimates.
constexpr std::array<std::int64_t, schedule::num_arenas> min_idle{40, 6, 0, 36, 6};
/// The same for state whose shares are rounded to chunks.
constexpr std::int64_t rounded_of_state = 64;
/// The same for the alignment of buffers of layers that are not built.
constexpr std::int64_t aligned_of_all = 512;

constexpr std::size_t host_arena = 1;

/// Returns `bytes` scaled by `after` / `before`.
std::int64_t grown(std::int64_t bytes, std::int64_t before, std::int64_t after) {
    return before > 0 ? times(bytes, static_cast<double>(after) / static_cast<double>(before))
                      : bytes + after;
}

class Scaling {
  public:
    Scaling(Program& program, const ReducedRun& built, spec::RunSpec whole)
        : program_{program},
          built_{built},
          whole_{std::move(whole)},
          chunks_{static_cast<double>(chunk_elements(whole_)) /
                  static_cast<double>(chunk_elements(built.spec))} {}

    void run() {
        auto ranges = schedule::live_ranges(program_);
        const auto before = arena_sizes(program_, ranges);
        const auto saved = saved_bytes();
        const auto updated = bytes_of_host_updates();
        scale_stashes();
        scale_state();
        scale_undo(updated > 0 ? bytes_of_host_updates() / updated : 1);
        scale_saving(saved > 0 ? static_cast<double>(saved_bytes()) / static_cast<double>(saved) : 1);
        scale_transient(ranges);
        ranges.resize(program_.buffers.size());
        const auto after = arena_sizes(program_, ranges);
        for (std::size_t a = 0; a < schedule::num_arenas; ++a) {
            const auto idle = program_.arena_bytes[a] - before.end[a] - before.peak[a];
            const auto grows = std::min(grown(idle, before.peak[a], after.peak[a]),
                                        idle + std::abs(after.peak[a] - before.peak[a]) /
                                                   (a == host_arena ? max_idle_on_host : max_idle));
            const auto at_least = min_idle[a] > 0 ? after.peak[a] / min_idle[a] : 0;
            const auto fixed = grown(before.end[a], before.fixed[a], after.fixed[a]);
            const auto rounded = is_state_divided() ? fixed / rounded_of_state : 0;
            const auto aligned = (fixed + after.peak[a]) / aligned_of_all;
            program_.arena_bytes[a] = fixed + rounded + aligned + after.peak[a] + std::max(grows, at_least);
        }
    }

  private:
    /// State of one kind: its whole size, and the bytes in each tier now.
    struct Held {
        double all = 0;
        double on_host = 0;  ///< of an embedding that stays on the host; not part of the other members
        spec::ByTier<double> now{};
        spec::ByTier<Buffer> like{};  ///< an example from each tier; no name if the tier has no buffer
    };

    /// True if a kind of state has shares of several tiers, which are rounded to chunks.
    bool is_state_divided() const {
        const auto is_divided = [](const spec::Home& home) {
            return std::ranges::any_of(std::array{home.device, home.host, home.nvme},
                                       [](double share) { return share > 0 && share < 1; });
        };
        const auto& tiers = whole_.tiers;
        return chunks_ != 1 || is_divided(tiers.parameters) || is_divided(tiers.gradients) ||
               is_divided(tiers.optimizer);
    }

    /// Returns the bytes that a checkpoint copies. Only the ratio of two results is used.
    std::int64_t saved_bytes() const {
        std::int64_t bytes = 0;
        for (const auto& buffer : program_.buffers) {
            const bool is_copied = buffer.lifetime == Lifetime::persistent &&
                                   buffer.tier != spec::Tier::nvme &&
                                   layout::piece_of(buffer.state, layout::masters_of(whole_)) &&
                                   !layout::is_of_frozen(buffer.state);
            bytes += is_copied ? buffer.bytes : 0;
        }
        return bytes;
    }

    void scale_state() {
        std::map<StateKind, Held> kinds;
        for (auto& buffer : program_.buffers) {
            if (buffer.lifetime != Lifetime::persistent || buffer.state == StateKind::none ||
                buffer.reuses >= 0) {
                continue;
            }
            auto& held = kinds[buffer.state];
            const auto bytes = static_cast<double>(buffer.bytes);
            if (buffer.stays_on_host) {  // no layer has such state
                held.on_host += bytes;
                continue;
            }
            held.all +=
                is_of_layer(buffer, built_) ? built_.layers.represents(buffer.unit - 1) * bytes : bytes;
            held.now[buffer.tier] += bytes;
            held.like[buffer.tier] = buffer;
        }
        std::erase_if(kinds, [](const auto& kind) { return kind.second.all == 0; });
        for (const auto& [kind, held] : kinds) {
            const auto* home = layout::home_of(kind, whole_.tiers);
            const double sum = held.now[0] + held.now[1] + held.now[2];
            const auto wanted = [&](spec::Tier t) {
                const spec::ByTier<double> shares{home == nullptr ? 0 : home->device,
                                                  home == nullptr ? 0 : home->host,
                                                  home == nullptr ? 0 : home->nvme};
                // The embedding has the first chunks of its kind.
                const double first = t == spec::Tier::device ? 0
                                     : t == spec::Tier::host ? shares[spec::Tier::device]
                                                             : 1 - shares[spec::Tier::nvme];
                const double all = held.all + held.on_host;
                const double taken = std::clamp(held.on_host - all * first, 0.0, all * shares[t]);
                return home == nullptr ? held.all * held.now[t] / sum : all * shares[t] - taken;
            };
            for (auto& buffer : program_.buffers) {
                const double now = held.now[buffer.tier];
                if (buffer.lifetime == Lifetime::persistent && buffer.state == kind && now > 0 &&
                    !buffer.stays_on_host) {
                    buffer.bytes = times(buffer.bytes, wanted(buffer.tier) / now);
                }
            }
            add_missing(held, wanted);
        }
    }

    /// Scales stashes of layers.
    ///
    /// They have the homes of their parameters, of which the embedding has the first chunks.
    void scale_stashes() {
        Held held;
        double embedding = 0;
        double layers = 0;
        for (const auto& buffer : program_.buffers) {
            const auto bytes = static_cast<double>(buffer.bytes);
            const bool is_layer = is_of_layer(buffer, built_);
            const double all = is_layer ? built_.layers.represents(buffer.unit - 1) * bytes : bytes;
            if (is_stash(buffer)) {
                held.all += all;
                held.now[buffer.tier] += bytes;
                held.like[buffer.tier] = buffer;
            } else if (buffer.lifetime == Lifetime::persistent &&
                       (buffer.state == StateKind::parameters || layout::is_of_frozen(buffer.state))) {
                (is_layer ? layers : embedding) += all;
            }
        }
        if (held.all == 0) {
            return;
        }
        const auto& home = whole_.tiers.parameters;
        const auto wanted = [&](spec::Tier t) {
            const double begin = t == spec::Tier::device ? 0
                                 : t == spec::Tier::host ? home.device
                                                         : 1 - home.nvme;
            const double end = t == spec::Tier::device ? home.device
                               : t == spec::Tier::host ? 1 - home.nvme
                                                       : 1;
            const double of_layers =
                std::max(0.0, end * (embedding + layers) - std::max(embedding, begin * (embedding + layers)));
            return held.all * of_layers / layers;
        };
        for (auto& buffer : program_.buffers) {
            if (is_stash(buffer) && held.now[buffer.tier] > 0) {
                buffer.bytes = times(buffer.bytes, wanted(buffer.tier) / held.now[buffer.tier]);
            }
        }
        add_missing(held, wanted);
    }

    static bool is_stash(const Buffer& buffer) {
        return buffer.lifetime == Lifetime::in_flight && buffer.consumer == schedule::MemoryCategory::stashes;
    }

    /// Returns the bytes of a moment that updates on the host change.
    double bytes_of_host_updates() const {
        double bytes = 0;
        for (const auto& buffer : program_.buffers) {
            const bool counts = buffer.lifetime == Lifetime::persistent &&
                                buffer.state == StateKind::first_moment && buffer.tier != spec::Tier::device;
            bytes += counts ? static_cast<double>(buffer.bytes) : 0;
        }
        return bytes;
    }

    /// Scales the state before speculative updates, all of which is kept at the end of backward.
    void scale_undo(double growth) {
        for (auto& buffer : program_.buffers) {
            if (buffer.second_slot >= 0) {
                program_.buffers[buffer.second_slot].bytes = buffer.bytes;
            } else if (buffer.consumer == schedule::MemoryCategory::undo &&
                       buffer.lifetime == Lifetime::transient) {
                buffer.bytes = times(buffer.bytes, growth);
            }
        }
    }

    /// Adds buffers for tiers whose share is so small that the built layers have no bytes there.
    template <class Wanted>
    void add_missing(const Held& held, const Wanted& wanted) {
        const auto known = std::ranges::find_if(held.like, [](const Buffer& b) { return !b.name.empty(); });
        for (const auto tier : {spec::Tier::device, spec::Tier::host, spec::Tier::nvme}) {
            if (held.now[tier] == 0 && wanted(tier) >= 1) {
                auto made = *known;
                made.tier = tier;
                made.is_shared = made.is_shared && made.tier != spec::Tier::nvme;
                made.bytes = times(1, wanted(tier));
                made.second_slot = -1;
                if (spec::speculates(whole_) && tier == spec::Tier::nvme &&
                    schedule::is_optimizer_state(made.state)) {
                    auto second = made;
                    second.state = StateKind::none;
                    second.consumer = schedule::MemoryCategory::undo;
                    made.second_slot = program_.add_buffer(std::move(second));
                }
                program_.add_buffer(std::move(made));
            }
        }
    }

    void scale_saving(double growth) {
        const auto grow = [&](int index, double by) {
            if (index >= 0) {
                auto& buffer = program_.buffers[index];
                buffer.bytes = times(buffer.bytes, by);
            }
        };
        grow(program_.trainer_buffers.snapshot, growth);
        grow(program_.trainer_buffers.save_ring, chunks_);
    }

    void scale_transient(const std::vector<schedule::LiveRange>& ranges) {
        const auto brought = brought_for_updates();
        const auto tiles = tile_factors(program_, built_, whole_);
        const auto turns = turning_points();
        std::vector<double> kept(program_.buffers.size());
        spec::ByTier<double> by_tier{};
        for (std::size_t b = 0; b < kept.size(); ++b) {
            const auto& buffer = program_.buffers[b];
            const auto turn = turns.find(buffer.microbatch);
            if (buffer.lifetime == Lifetime::transient &&
                buffer.consumer == schedule::MemoryCategory::activations && is_of_layer(buffer, built_) &&
                turn != turns.end() && ranges[b].first < turn->second && turn->second < ranges[b].last) {
                kept[b] = kept_for(buffer.unit - 1);
                by_tier[buffer.tier] += kept[b] * static_cast<double>(buffer.bytes);
            }
        }
        const auto fuller = by_shares_of_activations(by_tier);
        for (std::size_t b = 0; b < kept.size(); ++b) {
            auto& buffer = program_.buffers[b];
            if (buffer.lifetime == Lifetime::transient) {
                buffer.bytes = times(buffer.bytes, kept[b] > 0  ? kept[b] * fuller[buffer.tier]
                                                   : brought[b] ? chunks_
                                                                : tiles[b]);
            } else if (buffer.lifetime == Lifetime::in_flight && is_of_layer(buffer, built_) &&
                       !is_stash(buffer)) {
                buffer.bytes = times(buffer.bytes, built_.layers.represents(buffer.unit - 1));
            }
        }
    }

    /// Returns the number of layers whose activations this one represents. Activations of the first half
    /// have reached their home, in any tier, before backward begins. With a divided home, the first layers
    /// are away and the last ones on the device.
    double kept_for(std::int64_t layer) const {
        return are_activations_shared() ? built_.layers.represents(layer)
                                        : built_.layers.first_half_stands_for(layer);
    }

    bool are_activations_shared() const {
        const double on_device = whole_.tiers.activations.device;
        return on_device > 0 && on_device < 1;
    }

    /// Returns, by tier, a factor for the activations there, so that the tier holds at least its share of
    /// all. Kinds of layers may have other shares than the built layers.
    spec::ByTier<double> by_shares_of_activations(const spec::ByTier<double>& kept) const {
        spec::ByTier<double> factors{1, 1, 1};
        const auto& home = whole_.tiers.activations;
        const std::array shares{home.device, home.host, home.nvme};
        for (std::size_t t = 0; are_activations_shared() && t < kept.size(); ++t) {
            const double wanted = shares[t] * (kept[0] + kept[1] + kept[2]);
            factors[t] = kept[t] > 0 ? std::max(1.0, wanted / kept[t]) : 1;
        }
        return factors;
    }

    /// Returns, by micro-batch, the op at which its backward begins: at the head; on other stages, at their
    /// last layer.
    std::map<int, int> turning_points() const {
        std::map<int, int> points;
        for (int i = 0; i < static_cast<int>(program_.ops.size()); ++i) {
            const auto& op = program_.ops[i];
            if (op.kind == OpKind::compute && op.direction != schedule::Direction::forward) {
                points.try_emplace(op.microbatch, i);
            }
        }
        return points;
    }

    /// Returns, by buffer, true if it is a staging buffer with state for an update.
    std::vector<bool> brought_for_updates() const {
        std::vector<bool> is_brought(program_.buffers.size());
        const auto is_staging = [&](const schedule::Operand& operand) {
            return program_.buffers[operand.buffer].consumer == schedule::MemoryCategory::transfers;
        };
        for (const auto& op : program_.ops) {
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    if (op.kind == OpKind::update && is_staging(operand)) {
                        is_brought[operand.buffer] = true;
                    }
                }
            }
        }
        for (const auto& op : program_.ops) {
            const bool moves = op.purpose == schedule::Purpose::state;
            for (std::size_t i = 0; moves && i < op.reads.size() && i < op.writes.size(); ++i) {
                const std::size_t from = op.reads[i].buffer;
                const std::size_t to = op.writes[i].buffer;
                if (is_staging(op.reads[i]) && is_staging(op.writes[i])) {
                    is_brought[from] = is_brought[to] = is_brought[from] || is_brought[to];
                }
            }
        }
        return is_brought;
    }

    Program& program_;
    const ReducedRun& built_;
    spec::RunSpec whole_;  ///< with the states of the program's stage
    double chunks_;        ///< ratio of the size of a chunk to that of a built chunk
};

}  // namespace

void scale_up(Program& program, const ReducedRun& built, const spec::RunSpec& whole) {
    if (!built.layers.is_whole() || chunk_elements(built.spec) != chunk_elements(whole) ||
        built.larger_tiles != whole.tiers.tiles) {
        Scaling{program, built,
                spec::of_stage(whole,
                               layout::Mesh{whole.parallel}.coordinate(spec::Axis::pipeline, program.rank))}
            .run();
    }
}

}  // namespace ziggurat::plan
