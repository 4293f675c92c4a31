#include "schedule/passes/activation_pass.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "schedule/passes/saved_for_backward.hpp"
#include "schedule/residency/away_moves.hpp"
#include "spec/fates.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

/// Returns the tier that a rule of recompute.fates gives to a buffer; nullopt if no rule does.
std::optional<Tier> tier_by_fate(const Buffer& buffer) {
    return buffer.fate ? spec::tier_of(*buffer.fate) : std::nullopt;
}

/// Returns the home of each kept buffer.
///
/// Shares are divided by bytes within each micro-batch, among buffers without a fate.
std::map<int, Tier> homes_of(const Program& program, const std::vector<Kept>& kept, const spec::Home& home) {
    const auto described = [&](const Kept& one) -> const Buffer& { return program.buffers[one.buffer]; };
    std::map<int, std::int64_t> bytes_of, before;  // by micro-batch
    for (const auto& one : kept) {
        bytes_of[described(one).microbatch] += tier_by_fate(described(one)) ? 0 : described(one).bytes;
    }
    std::map<int, Tier> homes;
    for (const auto& one : kept) {
        const auto& buffer = described(one);
        if (const auto tier = tier_by_fate(buffer)) {
            homes[one.buffer] = *tier;
            continue;
        }
        auto& begin = before[buffer.microbatch];
        const auto middle = static_cast<double>(2 * begin + buffer.bytes) / 2.0;
        const auto share = middle / static_cast<double>(bytes_of[buffer.microbatch]);
        homes[one.buffer] = share < home.nvme               ? Tier::nvme
                            : share < home.nvme + home.host ? Tier::host
                                                            : Tier::device;
        begin += buffer.bytes;
    }
    return homes;
}

/// Saved activations that leave the device.
class Departures {
  public:
    Departures(Program& program, int prefetch) : program_{program}, moves_{program, prefetch} {
        if (program.is_by_layer) {
            find_waits();
        }
    }

    /// Adds the transfers of one kept buffer to its home and back.
    ///
    /// A buffer stays on the device if backward needs it in the same unit pass in which forward last uses it
    /// (the head's pass), unless it waits for that pass.
    void add(const Kept& kept, Tier home) {
        const auto& passes = moves_.unit_passes();
        const bool is_wanted_at_once = passes.issued_at(kept.first_backward, 1) <= kept.last_forward;
        const int gone = std::min<int>(moves_.leaves_at(kept.produced), kept.first_backward);
        const auto waits = next_unit_.find(kept.buffer);
        const bool comes_for_forward = waits != next_unit_.end() && waits->second < kept.first_backward &&
                                       moves_.returns_at(waits->second, home) > gone;
        if (is_wanted_at_once && !comes_for_forward) {
            return;
        }
        const auto away = moves_.send_away(kept.buffer, home, gone);
        if (comes_for_forward) {
            moves_.bring_back(kept.buffer, away, waits->second, gone);
        }
        const bool stays =
            comes_for_forward && moves_.returns_at(kept.first_backward, home) <= kept.last_forward;
        if (!is_wanted_at_once && !stays) {
            moves_.bring_back(kept.buffer, away, kept.first_backward, gone);
        }
    }

    void insert() { moves_.insert(); }

  private:
    /// Finds the first op of forward that reads a value in another unit than that which made it. By layer,
    /// passes of other micro-batches lie between them.
    void find_waits() {
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            const auto& op = program_.ops[i];
            for (const auto& operand : op.reads) {
                const auto& buffer = program_.buffers[operand.buffer];
                if (buffer.unit >= 0 && op.unit >= 0 && buffer.unit != op.unit && buffer.microbatch >= 0) {
                    next_unit_.try_emplace(operand.buffer, i);
                }
            }
        }
    }

    Program& program_;
    AwayMoves moves_;
    std::unordered_map<int, OpId> next_unit_;  ///< by buffer; by layer only
};

}  // namespace

void activation_pass(ProgramBuilder& draft, const spec::RunSpec& spec) {
    const auto& home = spec.tiers.activations;
    const bool is_any_away = home.device < 1 || spec::swaps_any(spec.recompute.fates);
    if (!is_any_away || draft.program.variant != Variant::train) {
        return;
    }
    const auto kept = saved_for_backward(draft.program);
    const auto homes = homes_of(draft.program, kept, home);
    Departures departures{draft.program, spec.overlap.prefetch};
    for (const auto& one : kept) {
        if (homes.at(one.buffer) != Tier::device) {
            departures.add(one, homes.at(one.buffer));
        }
    }
    departures.insert();
}

}  // namespace ziggurat::schedule
