#include "schedule/residency/transfer_residencies.hpp"

#include <algorithm>
#include <set>

#include "base/small_vector.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

const char* suffix_of(Tier tier) {
    return tier == Tier::device ? " (device)" : tier == Tier::host ? " (host)" : " (nvme)";
}

/// Residencies by buffer that no op of another unit pass or tier has used since. Those of one buffer
/// are disjoint.
using OpenResidencies = std::map<int, std::vector<std::size_t>>;

class Finder {
  public:
    Finder(Program& program, const std::vector<std::vector<HomePart>>& homes, bool joins_updates)
        : program_{program}, joins_updates_{joins_updates} {
        go_home(homes);
        for (const auto& op : program.ops) {
            if (op.segment >= 0) {
                tiled_.insert(op.unit);
            }
        }
    }

    Residencies run() {
        OpenResidencies open;
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            auto& op = program_.ops[i];
            const auto tier = workplace(op, open);
            if (tier == Tier::host && program_.lanes[op.lane].engine == Engine::compute) {
                op.lane = program_.lane(Engine::host_optimizer);
            }
            for (const bool writes : {false, true}) {
                for (auto& operand : writes ? op.writes : op.reads) {
                    if (!parts(operand).empty()) {
                        use(i, op, operand, writes, tier, open);
                    }
                }
            }
        }
        std::erase_if(found_.residencies,
                      [](const Residency& residency) { return residency.operands.empty(); });
        for (auto& residency : found_.residencies) {
            write_whole_pages(residency);
        }
        return std::move(found_);
    }

  private:
    Buffer& buffer(int index) { return program_.buffers[index]; }
    const std::vector<PlacedPart>& parts(const Operand& operand) const {
        return found_.parts[operand.buffer];
    }

    void go_home(const std::vector<std::vector<HomePart>>& homes) {
        found_.parts.resize(homes.size());
        for (std::size_t b = 0; b < homes.size(); ++b) {
            for (const auto& [range, tier] : homes[b]) {
                const int whole = static_cast<int>(b);
                const std::int64_t width = element_bytes(buffer(whole));
                const auto begin = (range.begin - buffer(whole).first_element) * width;
                PlacedPart part{whole, tier, begin, begin + range.size() * width};
                if (homes[b].size() > 1) {
                    auto made = buffer(whole);
                    made.name += suffix_of(tier);
                    made.first_element = range.begin;
                    made.bytes = part.end - part.begin;
                    made.tier = tier;
                    if (made.reuses >= 0) {
                        made.reuses = found_.parts[made.reuses][found_.parts[b].size()].buffer;
                    }
                    part.buffer = program_.add_buffer(std::move(made));
                } else {
                    buffer(whole).tier = tier;
                }
                found_.parts[b].push_back(part);
            }
            if (homes[b].size() > 1) {
                buffer(static_cast<int>(b)).lifetime = Lifetime::transient;  // no op will name it
            }
        }
        divide_rotations();
        found_.parts.resize(program_.buffers.size());
        // Buffers that the device makes from state, such as the reduced gradient of one micro-batch, can be
        // needed on the host. They get residencies in the same way as state.
        for (std::size_t b = 0; b < homes.size(); ++b) {
            const auto& made = program_.buffers[b];
            if (made.lifetime == Lifetime::transient && made.state != StateKind::none && homes[b].empty()) {
                found_.parts[b].push_back({static_cast<int>(b), made.tier, 0, made.bytes});
            }
        }
    }

    /// Makes a rotation of each part of stashes with homes in several tiers.
    void divide_rotations() {
        std::vector<Rotation> rotations;
        for (const auto& whole : program_.rotations) {
            const auto& first = found_.parts[whole.slots.front()];
            if (first.size() < 2) {
                rotations.push_back(whole);
                continue;
            }
            for (std::size_t p = 0; p < first.size(); ++p) {
                auto& of_part = rotations.emplace_back(whole);
                for (auto& slot : of_part.slots) {
                    slot = found_.parts[slot][p].buffer;
                }
            }
        }
        program_.rotations = std::move(rotations);
    }

    using PlacedParts = SmallVector<const PlacedPart*, 3>;  // there are three tiers
    PlacedParts touched(const Operand& operand) const {
        PlacedParts some;
        const ByteRangeSet runs{operand.runs};
        for (const auto& part : parts(operand)) {
            if (!runs.within(part.begin, part.end).empty()) {
                some.push_back(&part);
            }
        }
        return some;
    }

    /// Returns the tier in which an op works; no op computes on NVMe. An update works in the tier of its
    /// moments, a publication in that of its master weights, a sum or a norm on the device only if all its
    /// gradients are there, a copy to a stash only if the stash is there. Ops on state that stays on the host
    /// run there.
    Tier workplace(const Op& op, const OpenResidencies& open) const {
        const bool is_update = op.kind == OpKind::update;
        if (program_.lanes[op.lane].engine == Engine::host_optimizer || is_on_state_of_host(op)) {
            return Tier::host;
        }
        if (op.purpose == Purpose::stash) {
            const auto at = touched(op.writes.front());
            const auto is_on_device = [](const PlacedPart* part) { return part->tier == Tier::device; };
            return std::ranges::all_of(at, is_on_device) ? Tier::device : Tier::host;
        }
        if (!is_update && op.kind != OpKind::add && op.kind != OpKind::norm) {
            return Tier::device;
        }
        if (const auto* residency = residency_of_norm(op, open)) {
            return residency->tier;
        }
        const auto decisive = !is_update                           ? StateKind::gradients
                              : op.purpose == Purpose::publication ? StateKind::master
                                                                   : StateKind::first_moment;
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                const auto state = program_.buffers[operand.buffer].state;
                if (state != decisive) {
                    continue;
                }
                for (const auto* part : touched(operand)) {
                    if (part->tier != Tier::device) {
                        return Tier::host;
                    }
                }
            }
        }
        return Tier::device;
    }

    /// True for an op without products, such as a collective, all of whose state stays on the host.
    ///
    /// A block of a tied table that a grid of tensor ranks broadcasts for the head is on the device.
    bool is_on_state_of_host(const Op& op) const {
        bool has_any = false;
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                const auto& used = program_.buffers[operand.buffer];
                const bool is_of_device = used.state != StateKind::none || used.tier == Tier::device;
                if (is_of_device && !used.stays_on_host) {
                    return false;
                }
                has_any = has_any || used.stays_on_host;
            }
        }
        return has_any && op.kind != OpKind::compute && op.kind != OpKind::update;
    }

    /// Returns the residency whose gradients a norm reads, instead of fetching them from NVMe again.
    const Residency* residency_of_norm(const Op& op, const OpenResidencies& open) const {
        if (op.kind != OpKind::norm) {
            return nullptr;
        }
        const auto& gradients = op.reads.front();
        const auto at = touched(gradients);
        const bool is_on_disk = std::ranges::any_of(at, [](const auto* p) { return p->tier == Tier::nvme; });
        return is_on_disk ? residency_with(gradients.buffer, ByteRangeSet{gradients.runs}, open) : nullptr;
    }

    /// Returns the open residency of a buffer that has all of `runs`; nullptr without one.
    const Residency* residency_with(int home, const ByteRangeSet& runs, const OpenResidencies& open) const {
        const auto known = open.find(home);
        if (known == open.end()) {
            return nullptr;
        }
        for (const auto v : known->second) {
            if (runs.without(found_.residencies[v].all).empty()) {
                return &found_.residencies[v];
            }
        }
        return nullptr;
    }

    /// Returns the residency that an op uses although it belongs to another unit pass.
    const Residency* shared_residency(
        const Op& op, int home, const ByteRangeSet& runs, Tier tier, const OpenResidencies& open) const {
        if (joins_updates_ && op.kind == OpKind::update && !op.predicate &&
            program_.buffers[home].state == StateKind::gradients) {
            const auto* summed = residency_with(home, runs, open);
            return summed != nullptr && summed->tier == tier ? summed : nullptr;
        }
        return residency_of_norm(op, open);
    }

    void use(int i, Op& op, Operand& operand, bool writes, Tier tier, OpenResidencies& open) {
        const int home = operand.buffer;
        const ByteRangeSet runs{operand.runs};
        const auto at = touched(operand);
        if (at.empty()) {
            return;
        }
        // In one tier, the bytes of a buffer are in one part.
        if (at.size() == 1 && at.front()->tier == tier) {
            (writes ? found_.in_place : found_.read_in_place)[home].push_back({i, runs});
            std::erase_if(open[home],
                          [&](std::size_t v) { return found_.residencies[v].all.overlaps(runs); });
            move_operand(op, operand, at.front()->buffer, at.front()->begin);
            return;
        }
        auto& residency = found_.residencies[residency_for(i, op, home, runs, tier, open)];
        residency.last_op = i;
        residency.operands.emplace_back(i, &operand);
        const bool adds = writes && op.accumulate && op.kind == OpKind::compute;
        if (!writes || adds) {
            residency.fetched.add(runs.without(residency.written));
        }
        if (writes) {
            residency.written.add(runs);
            residency.last_write = i;
        }
        residency.all.add(runs);
    }

    /// Returns the unit pass of an op.
    ///
    /// By layer, the sums of a unit's gradients over micro-batches follow each other and are one pass, so
    /// that the accumulator stays where they are formed. Gradients of segments are added up one by one.
    UnitPass pass_of(int i) const {
        const auto& op = program_.ops[i];
        const bool adds_up = program_.is_by_layer && op.kind == OpKind::add && !tiled_.contains(op.unit);
        return adds_up ? UnitPass{op.unit, -1, 2, -1} : unit_pass_of(program_, i);
    }

    /// Returns the residency that `runs` join, or a new one.
    ///
    /// An op of a segment, or a collective, can use bytes far from the other bytes of the buffer, such as a
    /// bias after all weights. Such bytes get their own residency, so that no memory is reserved for the gap.
    std::size_t residency_for(
        int i, const Op& op, int home, const ByteRangeSet& runs, Tier tier, OpenResidencies& open) {
        const auto* shared = shared_residency(op, home, runs, tier, open);
        const auto unit_pass = shared != nullptr ? shared->unit_pass : pass_of(i);
        auto& residencies = open[home];
        const bool may_be_apart = op.kind != OpKind::compute || op.segment >= 0;
        std::vector<std::size_t> near;
        bool can_stay = true;
        bool joins = true;
        for (const auto v : residencies) {
            const auto& residency = found_.residencies[v];
            can_stay = can_stay && residency.unit_pass == unit_pass && residency.tier == tier;
            if (!may_be_apart || are_near(residency.all, runs)) {
                near.push_back(v);
                joins = joins && can_join(residency, unit_pass, tier, runs);
            }
        }
        if (can_stay && joins && !near.empty()) {
            for (auto v = near.begin() + 1; v != near.end(); ++v) {
                merge(found_.residencies[near.front()], found_.residencies[*v]);
                std::erase(residencies, *v);
            }
            return near.front();
        }
        std::erase_if(residencies,
                      [&](std::size_t v) { return !can_stay || std::ranges::count(near, v) > 0; });
        residencies.push_back(found_.residencies.size());
        found_.residencies.push_back({});
        auto& made = found_.residencies.back();
        made.home = home;
        made.tier = tier;
        made.unit_pass = unit_pass;
        made.first_op = i;
        return residencies.back();
    }

    /// Merges the ops and ranges of `other` into `into`.
    static void merge(Residency& into, Residency& other) {
        into.last_op = std::max(into.last_op, other.last_op);
        into.last_write = std::max(into.last_write, other.last_write);
        into.operands.insert(into.operands.end(), other.operands.begin(), other.operands.end());
        into.fetched.add(other.fetched);
        into.written.add(other.written);
        into.all.add(other.all);
        other = {};
    }

    /// True if the ranges share a page, or could do so after rounding to pages.
    static bool are_near(const ByteRangeSet& a, const ByteRangeSet& b) {
        return a.begin() < b.end() + 2 * page_bytes && b.begin() < a.end() + 2 * page_bytes;
    }

    /// True if a residency can also serve `runs`: all fetched bytes are fetched before its first op.
    bool can_join(const Residency& residency,
                  const UnitPass& unit_pass,
                  Tier tier,
                  const ByteRangeSet& runs) const {
        if (residency.unit_pass != unit_pass || residency.tier != tier) {
            return false;
        }
        const auto changes = found_.in_place.find(residency.home);
        if (changes == found_.in_place.end()) {
            return true;
        }
        const auto since =
            std::ranges::lower_bound(changes->second, residency.first_op, {}, &HomeChange::last_op);
        return std::none_of(since, changes->second.end(),
                            [&](const HomeChange& change) { return change.written.overlaps(runs); });
    }

    /// Extends changed ranges on NVMe to whole pages, which must then be read first.
    void write_whole_pages(Residency& residency) const {
        for (const auto& part : found_.parts[residency.home]) {
            if (part.tier == Tier::nvme) {
                const auto changed = residency.written.within(part.begin, part.end);
                const auto paged = changed.in_pages(part.end);
                residency.fetched.add(paged.without(changed));
                residency.written.add(paged);
                residency.all.add(paged);
            }
        }
    }

    Program& program_;
    bool joins_updates_;
    std::set<int> tiled_;  ///< units with segments
    Residencies found_;
};

}  // namespace

void move_operand(Op& op, Operand& operand, BufferId buffer, std::int64_t shift) {
    const auto& list = reads_own_block(op.kind) ? op.writes : op.reads;
    const auto position =
        std::find_if(list.begin(), list.end(), [&](const Operand& other) { return &other == &operand; });
    if (position != list.end() && !op.blocks.empty()) {
        const auto members = op.blocks.size() / list.size();
        const auto begin = static_cast<std::size_t>(position - list.begin()) * members;
        for (auto b = begin; b < begin + members; ++b) {
            op.blocks[b].offset -= op.blocks[b].bytes > 0 ? shift : 0;
        }
    }
    operand.buffer = buffer;
    for (auto& run : operand.runs) {
        run.offset -= shift;
    }
}

Residencies find_residencies(Program& program,
                             const std::vector<std::vector<HomePart>>& homes,
                             bool joins_updates) {
    return Finder{program, homes, joins_updates}.run();
}

}  // namespace ziggurat::schedule
