#include "schedule/passes/activation_pass.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/passes/saved_for_backward.hpp"
#include "schedule/residency/move_op.hpp"
#include "schedule/residency/unit_passes.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

/// Returns the home of each kept buffer. Shares are divided by bytes within each micro-batch.
std::map<int, Tier> homes_of(const Program& program, const std::vector<Kept>& kept, const spec::Home& home) {
    const auto described = [&](const Kept& one) -> const Buffer& { return program.buffers[one.buffer]; };
    std::map<int, std::int64_t> bytes_of, before;  // by micro-batch
    for (const auto& one : kept) {
        bytes_of[described(one).microbatch] += described(one).bytes;
    }
    std::map<int, Tier> homes;
    for (const auto& one : kept) {
        const auto& buffer = described(one);
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

enum class MoveDirection { away, back };

class Departures {
  public:
    Departures(Program& program, int prefetch)
        : program_{program}, prefetch_{prefetch}, unit_passes_{program} {}

    /// True if backward needs the buffer in the same unit pass in which forward last uses it (the head's
    /// pass).
    bool is_wanted_at_once(const Kept& kept) const {
        return unit_passes_.issued_at(kept.first_backward, 1) <= kept.last_forward;
    }

    /// Adds the transfers of one kept buffer to its home and back.
    ///
    /// The transfer out is listed one unit pass later than the buffer is made. The lane does not wait for
    /// that, but until then no other buffer gets the memory, so the next pass does not wait for the link.
    void add(const Kept& kept, Tier home) {
        const int gone = std::min<int>(unit_passes_.after(kept.produced, 2), kept.first_backward);
        const int away = like(kept.buffer, home, " away");
        const int back = like(kept.buffer, Tier::device, " back");
        std::vector<int> direction{kept.buffer, away, back};
        if (home == Tier::nvme) {
            direction = {kept.buffer, like(kept.buffer, Tier::host, " on its way out"), away,
                         like(kept.buffer, Tier::host, " on its way back"), back};
        }
        const auto hops = direction.size() - 1;
        for (std::size_t s = 0; s < hops; ++s) {
            auto op = move_op(program_, direction[s], direction[s + 1]);
            if (s < hops / 2) {
                in_front_.emplace(std::pair{gone, MoveDirection::away}, std::move(op));
            } else {
                const int ahead = op.kind == OpKind::read ? 2 * prefetch_ : prefetch_;
                const int wanted = unit_passes_.issued_at(kept.first_backward, ahead);
                in_front_.emplace(std::pair{std::max(wanted, gone), MoveDirection::back}, std::move(op));
            }
        }
        returned_.emplace(kept.buffer, Returned{back, kept.first_backward});
    }

    void insert() {
        std::vector<Op> ops;
        auto next = in_front_.begin();
        for (int i = 0; i < static_cast<int>(program_.ops.size()); ++i) {
            for (; next != in_front_.end() && next->first.first == i; ++next) {
                ops.push_back(std::move(next->second));
            }
            auto& op = program_.ops[i];
            for (auto* operands : {&op.reads, &op.writes}) {
                for (auto& operand : *operands) {
                    const auto found = returned_.find(operand.buffer);
                    if (found != returned_.end() && i >= found->second.first_op) {
                        operand.buffer = found->second.buffer;
                    }
                }
            }
            ops.push_back(std::move(op));
        }
        program_.ops = std::move(ops);
    }

  private:
    /// Buffer that backward reads instead of the one that left, and the first op that reads it.
    struct Returned {
        BufferId buffer = -1;
        int first_op = -1;
    };

    int like(BufferId buffer, Tier tier, const char* what) {
        auto made = program_.buffers[buffer];
        made.name += what;
        made.tier = tier;
        return program_.add_buffer(std::move(made));
    }

    Program& program_;
    int prefetch_;
    UnitPasses unit_passes_;
    /// Transfers by the op that they precede; those of one buffer in their order. Transfers out come first,
    /// so that their source does not share memory with the target of a transfer back.
    std::multimap<std::pair<int, MoveDirection>, Op> in_front_;
    std::unordered_map<int, Returned> returned_;  ///< by the buffer that left
};

}  // namespace

void activation_pass(ProgramBuilder& draft, const spec::RunSpec& spec) {
    const auto& home = spec.tiers.activations;
    if (home.device == 1 || draft.program.variant != Variant::train) {
        return;
    }
    const auto kept = saved_for_backward(draft.program);
    const auto homes = homes_of(draft.program, kept, home);
    Departures departures{draft.program, spec.overlap.prefetch};
    for (const auto& one : kept) {
        if (homes.at(one.buffer) != Tier::device && !departures.is_wanted_at_once(one)) {
            departures.add(one, homes.at(one.buffer));
        }
    }
    departures.insert();
}

}  // namespace ziggurat::schedule
