#include "schedule/transfer_pass.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

/// The one tier of a home.
Tier tier_of(const spec::Home& home, const char* kind) {
    if (home.device == 1) {
        return Tier::device;
    }
    if (home.host == 1) {
        return Tier::host;
    }
    if (home.nvme == 1) {
        return Tier::nvme;
    }
    throw Error{ErrorKind::deck,
                std::string{"tiers.home."} + kind +
                    ": shares of several tiers are not built yet (a kind of state moves as a whole). "
                    "Name one tier."};
}

/// Ops of one occasion share what was brought for one of them.
using Occasion = std::tuple<int, int, int>;

Occasion occasion_of(const Op& op, int index) {
    if (op.kind == OpKind::compute || op.kind == OpKind::loss) {
        const bool is_forward = op.direction == Direction::forward || op.direction == Direction::none;
        return {op.unit, op.microbatch, is_forward ? 0 : 1};
    }
    return {-1, index, 0};
}

/// One buffer's stay in a tier that is not its home.
struct Visit {
    int home = -1;    ///< the buffer at home
    int staged = -1;  ///< the one in its place
    Tier tier = Tier::device;
    Occasion occasion;
    int first_op = -1;
    int last_op = -1;
    std::vector<std::pair<int, Operand*>> operands;  ///< by op
    ByteRuns fetched;                                ///< at home: read before they are written
    ByteRuns written;
    ByteRuns all;
};

/// Bytes at home that an op has changed, by a visit or in place.
struct Change {
    int last_op = -1;
    ByteRuns written;
};

class Transfers {
  public:
    Transfers(Draft& draft, const spec::RunSpec& spec)
        : program_{draft.program},
          prefetch_{spec.overlap.prefetch},
          parameters_{tier_of(spec.tiers.parameters, "parameters")},
          gradients_{tier_of(spec.tiers.gradients, "gradients")},
          optimizer_{tier_of(spec.tiers.optimizer, "optimizer")} {}

    void run() {
        begin_occasions();
        if (parameters_ == Tier::device && gradients_ == Tier::device && optimizer_ == Tier::device) {
            return;
        }
        go_home();
        find_visits();
        insert();
    }

  private:
    Buffer& buffer(int index) { return program_.buffers[static_cast<std::size_t>(index)]; }

    /// A unit's pass over a micro-batch is an occasion whether something is moved for it or not.
    void begin_occasions() {
        Occasion last;
        for (int i = 0; i < static_cast<int>(program_.ops.size()); ++i) {
            const auto& op = program_.ops[static_cast<std::size_t>(i)];
            if (op.kind == OpKind::compute && (firsts_.empty() || occasion_of(op, i) != last)) {
                last = occasion_of(op, i);
                firsts_.push_back(i);
            }
        }
    }

    void go_home() {
        for (auto& held : program_.buffers) {
            if (held.lifetime != Lifetime::persistent) {
                continue;
            }
            switch (held.state) {
                case StateKind::parameters:
                case StateKind::frozen:
                    held.tier = parameters_;
                    break;
                case StateKind::gradients:
                    held.tier = gradients_;
                    break;
                case StateKind::master:
                case StateKind::first_moment:
                case StateKind::second_moment:
                    held.tier = optimizer_;
                    break;
                case StateKind::secondary:
                case StateKind::none:
                    break;
            }
        }
    }

    /// Where an op works; nothing computes on NVMe.
    Tier workplace(const Op& op) const {
        const bool is_update = op.kind == OpKind::update && optimizer_ != Tier::device;
        const bool is_sum = (op.kind == OpKind::add || op.kind == OpKind::norm) && gradients_ != Tier::device;
        return is_update || is_sum ? Tier::host : Tier::device;
    }

    void find_visits() {
        std::map<int, std::size_t> open;  // buffer -> its visit, as long as nobody else has used it
        for (int i = 0; i < static_cast<int>(program_.ops.size()); ++i) {
            auto& op = program_.ops[static_cast<std::size_t>(i)];
            const auto tier = workplace(op);
            if (tier == Tier::host) {
                op.lane = program_.lane(Engine::host_optimizer);
            }
            for (const bool writes : {false, true}) {
                for (auto& operand : writes ? op.writes : op.reads) {
                    use(i, op, operand, writes, tier, open);
                }
            }
        }
    }

    void use(int i, Op& op, Operand& operand, bool writes, Tier tier, std::map<int, std::size_t>& open) {
        const auto& held = buffer(operand.buffer);
        if (held.state == StateKind::none) {
            return;
        }
        if (held.tier == tier) {
            if (writes) {
                changes_[operand.buffer].push_back({i, ByteRuns{operand.runs}});
            }
            open.erase(operand.buffer);
            return;
        }
        const auto occasion = occasion_of(op, i);
        const auto known = open.find(operand.buffer);
        if (known == open.end() || visits_[known->second].occasion != occasion ||
            visits_[known->second].tier != tier) {
            open[operand.buffer] = visits_.size();
            visits_.push_back({});
            visits_.back().home = operand.buffer;
            visits_.back().tier = tier;
            visits_.back().occasion = occasion;
            visits_.back().first_op = i;
        }
        auto& visit = visits_[open.at(operand.buffer)];
        visit.last_op = i;
        visit.operands.emplace_back(i, &operand);
        const ByteRuns runs{operand.runs};
        const bool adds = writes && op.accumulate && op.kind == OpKind::compute;
        if (!writes || adds) {
            visit.fetched.add(runs.without(visit.written));
        }
        if (writes) {
            visit.written.add(runs);
        }
        visit.all.add(runs);
    }

    /// A buffer for the bytes of the visit in `tier`.
    int stage(const Visit& visit, Tier tier, const char* what) {
        auto made = buffer(visit.home);
        const std::int64_t width = made.type == spec::DType::f32 ? 4 : 2;
        made.name += what;
        made.tier = tier;
        made.lifetime = Lifetime::transient;
        made.consumer = consumer::staging;
        made.first_element += visit.all.begin() / width;
        made.bytes = visit.all.end() - visit.all.begin();
        return program_.add_buffer(std::move(made));
    }

    /// One hop of some bytes, given as offsets at home.
    Op hop(const Visit& visit, const ByteRuns& bytes, int from, int to) {
        const auto operand = [&](int index, const char* role) {
            const auto shift = index == visit.home ? 0 : visit.all.begin();
            return Operand{index, role, bytes.moved(-shift)};
        };
        const auto source = buffer(from).tier;
        const auto target = buffer(to).tier;
        Op op;
        op.purpose = Purpose::state;
        op.unit = buffer(visit.home).unit;
        op.label = buffer(visit.home).name + (to == visit.home ? " home" : " fetched");
        Engine engine = Engine::host_to_device;
        if (source == Tier::nvme) {
            op.kind = OpKind::read;
            engine = Engine::nvme_read;
        } else if (target == Tier::nvme) {
            op.kind = OpKind::write;
            engine = Engine::nvme_write;
        } else {
            op.kind = OpKind::copy;
            engine = target == Tier::device ? Engine::host_to_device : Engine::device_to_host;
        }
        op.lane = program_.lane(engine);
        op.reads.push_back(operand(from, "input"));
        op.writes.push_back(operand(to, "output"));
        return op;
    }

    /// Between the home and the place of the visit there may be a stop on the host.
    std::vector<int> way(const Visit& visit) {
        const auto home = buffer(visit.home).tier;
        const bool stops = home == Tier::nvme && visit.tier == Tier::device;
        return stops ? std::vector<int>{visit.home, stage(visit, Tier::host, " on its way"), visit.staged}
                     : std::vector<int>{visit.home, visit.staged};
    }

    /// The op in front of which something is issued that is needed by op `needed`, `ahead` occasions before.
    int issued_at(int needed, int ahead) const {
        const auto at = std::lower_bound(firsts_.begin(), firsts_.end(), needed) - firsts_.begin();
        return at >= ahead ? firsts_[static_cast<std::size_t>(at - ahead)] : 0;
    }

    /// The first place behind every change of these bytes at home that comes before op `needed`.
    int behind_changes(int home, const ByteRuns& bytes, int needed) const {
        const auto changes = changes_.find(home);
        int place = 0;
        if (changes != changes_.end()) {
            for (const auto& change : changes->second) {
                if (change.last_op < needed && change.written.overlaps(bytes)) {
                    place = std::max(place, change.last_op + 1);
                }
            }
        }
        return place;
    }

    void insert() {
        for (auto& visit : visits_) {
            visit.staged = stage(visit, visit.tier, visit.tier == Tier::device ? " on device" : " on host");
            rename(visit);
            firsts_.push_back(visit.first_op);
            if (!visit.written.empty()) {
                changes_[visit.home].push_back({visit.last_op, visit.written});
            }
        }
        std::sort(firsts_.begin(), firsts_.end());
        firsts_.erase(std::unique(firsts_.begin(), firsts_.end()), firsts_.end());

        std::multimap<int, Op> in_front;
        std::multimap<int, Op> behind;
        for (const auto& visit : visits_) {
            if (!visit.fetched.empty()) {
                const auto stops = way(visit);
                const int earliest = behind_changes(visit.home, visit.fetched, visit.first_op);
                for (std::size_t s = 0; s + 1 < stops.size(); ++s) {
                    const int distance = buffer(stops[s]).tier == Tier::nvme ? 2 : 1;
                    const int wanted = issued_at(visit.first_op, prefetch_ * distance);
                    in_front.emplace(std::max(wanted, earliest),
                                     hop(visit, visit.fetched, stops[s], stops[s + 1]));
                }
            }
            if (!visit.written.empty()) {
                auto stops = way(visit);
                std::reverse(stops.begin(), stops.end());
                for (std::size_t s = 0; s + 1 < stops.size(); ++s) {
                    behind.emplace(visit.last_op, hop(visit, visit.written, stops[s], stops[s + 1]));
                }
            }
        }
        std::vector<Op> ops;
        for (int i = 0; i < static_cast<int>(program_.ops.size()); ++i) {
            const auto take = [&](std::multimap<int, Op>& from) {
                for (auto [at, end] = from.equal_range(i); at != end; ++at) {
                    ops.push_back(std::move(at->second));
                }
            };
            take(in_front);
            ops.push_back(std::move(program_.ops[static_cast<std::size_t>(i)]));
            take(behind);
        }
        program_.ops = std::move(ops);
    }

    /// Operands, and the blocks of collectives that lie in them, move to the buffer of the visit.
    void rename(const Visit& visit) {
        const auto shift = visit.all.begin();
        for (const auto& [index, operand] : visit.operands) {
            auto& op = program_.ops[static_cast<std::size_t>(index)];
            const auto& list = op.kind == OpKind::all_gather ? op.writes : op.reads;
            const auto place = std::find_if(list.begin(), list.end(),
                                            [&, o = operand](const Operand& other) { return &other == o; });
            if (place != list.end() && !op.blocks.empty()) {
                const auto members = op.blocks.size() / list.size();
                const auto begin = static_cast<std::size_t>(place - list.begin()) * members;
                for (auto b = begin; b < begin + members; ++b) {
                    op.blocks[b].offset -= shift;
                }
            }
            operand->buffer = visit.staged;
            for (auto& run : operand->runs) {
                run.offset -= shift;
            }
        }
    }

    Program& program_;
    int prefetch_;
    Tier parameters_, gradients_, optimizer_;
    std::vector<Visit> visits_;                   ///< by first op
    std::map<int, std::vector<Change>> changes_;  ///< by buffer at home
    std::vector<int> firsts_;                     ///< first ops of occasions, ascending
};

}  // namespace

void transfer_pass(Draft& draft, const spec::RunSpec& spec) {
    if (tier_of(spec.tiers.activations, "activations") != Tier::device) {
        throw Error{ErrorKind::deck,
                    "tiers.home.activations: a home outside of the device is not built yet (activations stay "
                    "where they are made). Set it to device."};
    }
    Transfers{draft, spec}.run();
}

}  // namespace ziggurat::schedule
