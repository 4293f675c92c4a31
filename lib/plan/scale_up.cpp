#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "plan/scale_tiles.hpp"
#include "plan/short_run.hpp"
#include "schedule/expand/expand.hpp"
#include "schedule/passes/homes.hpp"
#include "schedule/passes/optimizer_pass.hpp"
#include "schedule/passes/save_ring_pass.hpp"
#include "schedule/passes/transfer_pass.hpp"
#include "schedule/place/place_buffers.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Buffer;
using schedule::Lifetime;
using schedule::OpKind;
using schedule::Program;
using schedule::StateKind;

bool is_layer(const Buffer& buffer, const spec::RunSpec& built) {
    return buffer.unit >= 1 && buffer.unit <= built.model.layers;
}

/// Bytes of each arena.
struct Sizes {
    std::array<std::int64_t, schedule::num_arenas> fixed{};  ///< of what lives as long as the program
    std::array<std::int64_t, schedule::num_arenas> end{};    ///< of where that lies
    std::array<std::int64_t, schedule::num_arenas> peak{};   ///< most of the others at one op
};

Sizes sizes_of(const Program& program, const std::vector<schedule::LiveRange>& ranges) {
    Sizes sizes;
    std::array<std::vector<std::int64_t>, schedule::num_arenas> change;
    for (auto& of_arena : change) {
        of_arena.resize(program.ops.size() + 1);
    }
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        const auto& buffer = program.buffers[b];
        const auto arena = schedule::arena_of(buffer);
        if (buffer.lifetime != Lifetime::transient) {
            sizes.fixed[arena] += buffer.bytes;
            sizes.end[arena] = std::max(sizes.end[arena], buffer.offset + buffer.bytes);
        } else if (ranges[b].first >= 0) {
            change[arena][static_cast<std::size_t>(ranges[b].first)] += buffer.bytes;
            change[arena][static_cast<std::size_t>(ranges[b].last) + 1] -= buffer.bytes;
        }
    }
    for (std::size_t a = 0; a < change.size(); ++a) {
        std::int64_t now = 0;
        for (const auto by : change[a]) {
            now += by;
            sizes.peak[a] = std::max(sizes.peak[a], now);
        }
    }
    return sizes;
}

std::int64_t times(std::int64_t bytes, double factor) {
    return static_cast<std::int64_t>(std::llround(static_cast<double>(bytes) * factor));
}

/// What lies idle between transient buffers grows with them, by at most one in so many bytes: as much as
/// place_buffers pays for waiting less.
constexpr std::int64_t most_idle = 8;

/// `bytes` in the proportion of `after` to `before`.
std::int64_t grown(std::int64_t bytes, std::int64_t before, std::int64_t after) {
    return before > 0 ? times(bytes, static_cast<double>(after) / static_cast<double>(before))
                      : bytes + after;
}

class Scaling {
  public:
    Scaling(Program& program, const spec::RunSpec& built, const spec::RunSpec& whole)
        : program_{program},
          built_{built},
          whole_{whole},
          layers_{static_cast<double>(whole.model.layers) / static_cast<double>(built.model.layers)},
          chunks_{static_cast<double>(chunk_elements(whole)) / static_cast<double>(chunk_elements(built))} {}

    void run() {
        auto ranges = schedule::live_ranges(program_);
        const auto before = sizes_of(program_, ranges);
        const auto saved = saved_bytes();
        scale_state();
        scale_saving(saved > 0 ? static_cast<double>(saved_bytes()) / static_cast<double>(saved) : 1);
        scale_transient(ranges);
        ranges.resize(program_.buffers.size());
        const auto after = sizes_of(program_, ranges);
        for (std::size_t a = 0; a < schedule::num_arenas; ++a) {
            const auto idle = program_.arena_bytes[a] - before.end[a] - before.peak[a];
            program_.arena_bytes[a] = grown(before.end[a], before.fixed[a], after.fixed[a]) + after.peak[a] +
                                      std::min(grown(idle, before.peak[a], after.peak[a]),
                                               idle + std::abs(after.peak[a] - before.peak[a]) / most_idle);
        }
    }

  private:
    /// State of a kind: all of it, and what is in each tier now.
    struct Held {
        double all = 0;
        std::array<double, 3> now{};
        std::array<Buffer, 3> like{};  ///< one of each tier; without a name where there is none
    };

    /// What is copied for a checkpoint, as far as it has to be in proportion.
    std::int64_t saved_bytes() const {
        std::int64_t bytes = 0;
        for (const auto& buffer : program_.buffers) {
            const bool is_copied = buffer.lifetime == Lifetime::persistent &&
                                   schedule::is_optimizer_state(buffer.state) &&
                                   buffer.tier != spec::Tier::nvme;
            bytes += is_copied ? buffer.bytes : 0;
        }
        return bytes;
    }

    void scale_state() {
        std::map<StateKind, Held> kinds;
        for (auto& buffer : program_.buffers) {
            if (buffer.lifetime != Lifetime::persistent || buffer.state == StateKind::none) {
                continue;
            }
            const auto t = static_cast<std::size_t>(buffer.tier);
            auto& held = kinds[buffer.state];
            const auto bytes = static_cast<double>(buffer.bytes);
            held.all += is_layer(buffer, built_) ? layers_ * bytes : bytes;
            held.now[t] += bytes;
            held.like[t] = buffer;
        }
        std::erase_if(kinds, [](const auto& kind) { return kind.second.all == 0; });
        for (const auto& [kind, held] : kinds) {
            const auto* home = layout::home_of(kind, whole_.tiers);
            const double sum = held.now[0] + held.now[1] + held.now[2];
            const auto wanted = [&](std::size_t t) {
                const std::array shares{home == nullptr ? 0 : home->device, home == nullptr ? 0 : home->host,
                                        home == nullptr ? 0 : home->nvme};
                return home == nullptr ? held.all * held.now[t] / sum : held.all * shares[t];
            };
            for (auto& buffer : program_.buffers) {
                const auto t = static_cast<std::size_t>(buffer.tier);
                if (buffer.lifetime == Lifetime::persistent && buffer.state == kind && held.now[t] > 0) {
                    buffer.bytes = times(buffer.bytes, wanted(t) / held.now[t]);
                }
            }
            add_missing(held, wanted);
        }
    }

    /// Shares so small that the layers which are built have none of them.
    template <class Wanted>
    void add_missing(const Held& held, const Wanted& wanted) {
        const auto known = std::ranges::find_if(held.like, [](const Buffer& b) { return !b.name.empty(); });
        for (std::size_t t = 0; t < held.now.size(); ++t) {
            if (held.now[t] == 0 && wanted(t) >= 1) {
                auto made = *known;
                made.tier = static_cast<spec::Tier>(t);
                made.is_shared = made.is_shared && made.tier != spec::Tier::nvme;
                made.bytes = times(1, wanted(t));
                program_.add_buffer(std::move(made));
            }
        }
    }

    void scale_saving(double growth) {
        const auto grow = [&](int index, double by) {
            if (index >= 0) {
                auto& buffer = program_.buffers[static_cast<std::size_t>(index)];
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
        const double more = static_cast<double>(whole_.model.layers - built_.model.layers);
        const auto early = early_layers();
        for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
            auto& buffer = program_.buffers[b];
            if (buffer.lifetime != Lifetime::transient) {
                continue;
            }
            const auto turn = turns.find(buffer.microbatch);
            const bool is_kept = buffer.consumer == schedule::Consumer::activations && buffer.unit >= 1 &&
                                 buffer.unit <= early && turn != turns.end() &&
                                 ranges[b].first < turn->second && turn->second < ranges[b].last;
            buffer.bytes = times(buffer.bytes, is_kept      ? 1 + more / static_cast<double>(early)
                                               : brought[b] ? chunks_
                                                            : tiles[b]);
        }
    }

    /// Layers whose activations have come home, wherever that is, before backward begins. They stand for all
    /// that are not built, so recomputation has to divide them.
    std::int64_t early_layers() const {
        const std::int64_t every = std::max(whole_.recompute.every, 1);
        const auto half = built_.model.layers / 2 / every * every;
        return half > 0 ? half : built_.model.layers;
    }

    /// By micro-batch: the op at which its backward begins, at the head; on other stages, at the last layer
    /// that they have.
    std::map<int, int> turning_points() const {
        std::map<int, int> points;
        for (int i = 0; i < static_cast<int>(program_.ops.size()); ++i) {
            const auto& op = program_.ops[static_cast<std::size_t>(i)];
            if (op.kind == OpKind::compute && op.direction != schedule::Direction::forward) {
                points.try_emplace(op.microbatch, i);
            }
        }
        return points;
    }

    /// By buffer: whether it holds what an update works on, there or on its way.
    std::vector<bool> brought_for_updates() const {
        std::vector<bool> is_brought(program_.buffers.size());
        const auto is_staging = [&](const schedule::Operand& operand) {
            return program_.buffers[static_cast<std::size_t>(operand.buffer)].consumer ==
                   schedule::Consumer::transfers;
        };
        for (const auto& op : program_.ops) {
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    if (op.kind == OpKind::update && is_staging(operand)) {
                        is_brought[static_cast<std::size_t>(operand.buffer)] = true;
                    }
                }
            }
        }
        for (const auto& op : program_.ops) {
            const bool moves = op.purpose == schedule::Purpose::state;
            for (std::size_t i = 0; moves && i < op.reads.size() && i < op.writes.size(); ++i) {
                const auto from = static_cast<std::size_t>(op.reads[i].buffer);
                const auto to = static_cast<std::size_t>(op.writes[i].buffer);
                if (is_staging(op.reads[i]) && is_staging(op.writes[i])) {
                    is_brought[from] = is_brought[to] = is_brought[from] || is_brought[to];
                }
            }
        }
        return is_brought;
    }

    Program& program_;
    const spec::RunSpec& built_;
    const spec::RunSpec& whole_;
    double layers_;  ///< of the run, for each that is built
    double chunks_;  ///< the size of a chunk, of that of one that is built
};

}  // namespace

void scale_up(Program& program, const spec::RunSpec& built, const spec::RunSpec& whole) {
    if (built.model.layers != whole.model.layers || chunk_elements(built) != chunk_elements(whole) ||
        built.tiers.tiles != whole.tiers.tiles) {
        Scaling{program, built, whole}.run();
    }
}

}  // namespace ziggurat::plan
