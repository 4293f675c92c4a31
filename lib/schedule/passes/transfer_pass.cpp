#include "schedule/passes/transfer_pass.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/small_vector.hpp"
#include "schedule/residency/gradient_handovers.hpp"
#include "schedule/residency/move_op.hpp"
#include "schedule/residency/second_slots.hpp"
#include "schedule/residency/split_by_home.hpp"
#include "schedule/residency/transfer_residencies.hpp"
#include "spec/depths.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

/// Buffer on the path between the home of a residency and its tier.
struct Stop {
    BufferId buffer = -1;
    std::int64_t begin = 0;  ///< its first byte, in bytes of the buffer as earlier passes name it
    Tier tier = Tier::device;
};

/// Sort key of a transfer op.
///
/// The fields are: op to which it belongs, before or after that op, read from NVMe or not, the op that needs
/// it, first or second hop, two tiers, lane for updates or not. Transfers with equal keys become one op.
/// Reads come first: the memory of the next read is then not the memory that a copy at the same op empties,
/// so disk and link work at the same time.
using TransferOrder = std::tuple<int, bool, int, int, Tier, Tier, bool>;

class Transfers {
  public:
    Transfers(Program& program,
              const spec::RunSpec& spec,
              const std::vector<std::vector<HomePart>>& homes,
              const std::vector<bool>& stays)
        : program_{program},
          prefetch_{spec.overlap.prefetch},
          optimizer_prefetch_{std::max(spec.overlap.optimizer_prefetch, 2 * prefetch_)},
          unit_passes_{UnitPasses::for_state(program)},
          found_{find_residencies(program, homes, spec.overlap.optimizer_with_backward)},
          on_device_{device_residencies(program, found_)} {
        for (const auto& residency : found_.residencies) {
            unit_passes_.add(residency.first_op);
        }
        unit_passes_.sort();
        if (spec::speculates(spec)) {
            add_second_slots(program, found_);
        }
        if (!stays.empty()) {
            merge_residencies(program, found_, stays);
        }
        if (spec.overlap.optimizer_with_backward) {
            for (auto& handover : hand_over_gradients(program, found_)) {
                handovers_[handover.from].push_back(std::move(handover));
            }
        }
    }

    std::vector<DeviceResidency> run(bool has_stays) {
        choose_times_at_home();
        for (const auto& [home, changes] : found_.in_place) {
            auto& all = changes_[home];
            all.insert(all.end(), changes.begin(), changes.end());
        }
        for (auto& [home, changes] : changes_) {
            std::ranges::sort(changes, {}, &HomeChange::last_op);
        }
        for (std::size_t v = 0; v < found_.residencies.size(); ++v) {
            serve(v);
        }
        name_empty_operands();
        insert();
        for (auto& on_device : on_device_) {
            on_device.buffer = has_stays ? BufferId{-1} : stops_.at(on_device.residency).buffer;
        }
        return std::move(on_device_);
    }

  private:
    /// Makes an empty operand of a collective name the buffer of the other operand, which is on the device.
    ///
    /// Values in flight keep their names, because they have the same period on all members (period_of).
    /// Stashes may be at home in any tier, and period_of does not need their names.
    void name_empty_operands() {
        const auto is_empty = [this](const Operand& operand) {
            const auto& of = buffer(operand.buffer);
            return operand.bytes() == 0 &&
                   (of.lifetime != Lifetime::in_flight || of.consumer == MemoryCategory::stashes);
        };
        for (auto& op : program_.ops) {
            if (!reads_own_block(op.kind) && !writes_own_block(op.kind)) {
                continue;
            }
            for (std::size_t i = 0; i < op.reads.size() && i < op.writes.size(); ++i) {
                if (is_empty(op.reads[i])) {
                    op.reads[i].buffer = op.writes[i].buffer;
                } else if (is_empty(op.writes[i])) {
                    op.writes[i].buffer = op.reads[i].buffer;
                }
            }
        }
    }

    Buffer& buffer(int index) { return program_.buffers[index]; }

    /// Chooses the positions after which changes are at home.
    ///
    /// Writes to NVMe are listed some unit passes later than possible. This delays no write, because the lane
    /// runs ahead of the list. But until then no other buffer gets the memory, so the next unit passes can
    /// write to theirs without waiting for the disk. A write is listed before the next residency of these
    /// bytes fetches them.
    void choose_times_at_home() {
        std::map<int, std::vector<const Residency*>> by_home;
        for (const auto& residency : found_.residencies) {
            by_home[residency.home].push_back(&residency);
        }
        for (const auto& residency : found_.residencies) {
            int position = unit_passes_.after(residency.last_write, prefetch_);
            const auto& same = by_home[residency.home];
            const auto first_op = [](const Residency* other) { return other->first_op; };
            for (auto at = std::ranges::upper_bound(same, residency.last_op, {}, first_op); at != same.end();
                 ++at) {
                const auto& other = **at;
                const int fetched =
                    unit_passes_.issued_at(other.first_op, ahead(other, Tier::nvme, Tier::host));
                const int before = std::max(residency.last_write, fetched - 1);
                if (before >= position) {
                    break;  // all later residencies are fetched later, too
                }
                if (other.all.overlaps(residency.written)) {
                    position = before;
                    break;
                }
            }
            at_home_.push_back(position);
            if (!residency.written.empty()) {
                changes_[residency.home].push_back({position, residency.written});
            }
        }
    }

    /// Returns the buffer of a residency in its tier; adds it at the first call.
    Stop stop_of(std::size_t v) {
        const auto known = stops_.find(v);
        if (known != stops_.end()) {
            return known->second;
        }
        const auto& residency = found_.residencies[v];
        const bool pages_here =
            residency.tier == Tier::host &&
            std::ranges::any_of(found_.parts[residency.home], [&](const PlacedPart& p) {
                return p.tier == Tier::nvme && !residency.all.within(p.begin, p.end).empty();
            });
        const auto bytes = pages_here ? residency.all.in_pages(buffer(residency.home).bytes) : residency.all;
        return stops_.emplace(v, stage(residency, residency.tier, bytes)).first->second;
    }

    /// Fetches the bytes that residency `v` reads and evicts the bytes that it writes.
    void serve(std::size_t v) {
        const auto& residency = found_.residencies[v];
        const auto& parts = found_.parts[residency.home];
        const auto size = buffer(residency.home).bytes;
        const auto here = stop_of(v);
        const int earliest = std::max(after_changes(residency), after_predicate(residency));
        for (const auto& part : parts) {
            const bool by_page = part.tier == Tier::nvme;
            const auto fetched = residency.fetched.within(part.begin, part.end);
            const auto written = residency.written.within(part.begin, part.end);
            if (fetched.empty() && written.empty()) {
                continue;
            }
            const Stop home{part.buffer, part.begin, part.tier};
            SmallVector<Stop, 3> direction{home};
            if (by_page && residency.tier == Tier::device) {
                auto both = fetched;
                both.add(written);
                direction.push_back(stage(residency, Tier::host, both.in_pages(size)));
            }
            direction.push_back(here);
            if (!fetched.empty()) {
                for (std::size_t s = 0; s + 1 < direction.size(); ++s) {
                    const auto bytes = direction[s].tier == Tier::nvme ? fetched.in_pages(part.end) : fetched;
                    const int wanted = unit_passes_.issued_at(
                        residency.first_op, ahead(residency, direction[s].tier, direction[s + 1].tier));
                    const TransferOrder order{std::max(wanted, earliest), direction[s].tier != Tier::nvme,
                                              residency.first_op,         static_cast<int>(s),
                                              direction[s].tier,          direction[s + 1].tier,
                                              serves_update(residency)};
                    move(in_front_[order], residency, bytes, direction[s], direction[s + 1], " fetched");
                }
            }
            if (!written.empty()) {
                for (auto s = direction.size() - 1; s > 0; --s) {
                    const int listed =
                        direction[s - 1].tier == Tier::nvme ? at_home_[v] : residency.last_write;
                    const TransferOrder order{listed,
                                              true,
                                              residency.last_write,
                                              static_cast<int>(direction.size() - s),
                                              direction[s].tier,
                                              direction[s - 1].tier,
                                              is_of_optimizer(residency)};
                    move(after_[order], residency, written, direction[s], direction[s - 1], " home");
                }
            }
        }
        if (const auto handovers = handovers_.find(v); handovers != handovers_.end()) {
            for (const auto& handover : handovers->second) {
                hand_over(residency, here, handover);
            }
        }
        for (const auto& [index, operand] : residency.operands) {
            move_operand(program_.ops[index], *operand, here.buffer, here.begin);
        }
    }

    /// Copies summed gradients from the device to the host, where an update uses them.
    void hand_over(const Residency& residency, const Stop& here, const GradientHandover& handover) {
        const TransferOrder order{residency.last_write, true, residency.last_write, 1, here.tier,
                                  Tier::host,           false};
        move(after_[order], residency, handover.bytes, here, stop_of(handover.to), " to its update");
    }

    bool serves_update(const Residency& residency) const {
        return program_.ops[residency.first_op].kind == OpKind::update;
    }

    /// Returns the number of unit passes by which a hop is issued early.
    int ahead(const Residency& residency, Tier from, Tier to) const {
        if (from == to) {
            return 0;
        }
        if (from != Tier::nvme) {
            return prefetch_;
        }
        return is_of_optimizer(residency) ? optimizer_prefetch_ : 2 * prefetch_;
    }

    bool is_of_optimizer(const Residency& residency) const {
        return is_optimizer_state(program_.buffers[residency.home].state);
    }

    /// Adds a buffer in `tier` for some bytes of the residency's buffer.
    Stop stage(const Residency& residency, Tier tier, const ByteRangeSet& bytes) {
        auto made = buffer(residency.home);
        const std::int64_t width = element_bytes(made);
        made.name +=
            tier == residency.tier ? tier == Tier::device ? " on device" : " on host" : " on its way";
        made.tier = tier;
        made.stays_on_host = made.stays_on_host && tier == Tier::host;
        made.reuses = -1;
        made.lifetime = Lifetime::transient;
        made.second_slot = -1;
        if (made.consumer == MemoryCategory::stashes) {
            made.state = StateKind::parameters;  // a lease of them
        }
        made.consumer = MemoryCategory::transfers;
        made.first_element += bytes.begin() / width;
        made.bytes = bytes.end() - bytes.begin();
        return {program_.add_buffer(std::move(made)), bytes.begin(), tier};
    }

    /// Adds one hop of some bytes to an op.
    void move(Op& op,
              const Residency& residency,
              const ByteRangeSet& bytes,
              const Stop& from,
              const Stop& to,
              const char* what) {
        if (op.reads.empty()) {
            op = empty_move(program_, from.tier, to.tier);
            if (op.kind == OpKind::read && serves_update(residency)) {
                op.lane = program_.update_lane(Engine::nvme_read);
            }
            if (op.kind == OpKind::write && is_of_optimizer(residency)) {
                op.lane = program_.update_lane(Engine::nvme_write);
            }
            const auto& user = program_.ops[residency.first_op];
            op.predicate = user.predicate;
            if (program_.has_no_flush()) {  // PipelineFill::runs decides for both
                op.microbatch = user.microbatch;
                op.purpose = user.purpose == Purpose::stash ? Purpose::stash : op.purpose;
            }
            op.unit = buffer(residency.home).unit;
            op.label = buffer(residency.home).name + what;
        }
        op.reads.push_back({from.buffer, Role::input, bytes.moved(-from.begin)});
        op.writes.push_back({to.buffer, Role::output, bytes.moved(-to.begin)});
    }

    /// Returns the first position before the residency's first op that follows every change of its fetched
    /// bytes.
    ///
    /// Ignores changes before the position at which the earliest hop would be issued.
    int after_changes(const Residency& residency) const {
        const auto changes = changes_.find(residency.home);
        if (changes == changes_.end()) {
            return 0;
        }
        const auto& all = changes->second;
        const int wanted =
            unit_passes_.issued_at(residency.first_op, std::max(2 * prefetch_, optimizer_prefetch_));
        const auto before = std::ranges::lower_bound(all, residency.first_op, {}, &HomeChange::last_op);
        for (auto at = std::make_reverse_iterator(before); at != all.rend() && at->last_op >= wanted; ++at) {
            if (at->written.overlaps(residency.fetched)) {
                return at->last_op + 1;
            }
        }
        return 0;
    }

    /// Returns the first position at which the predicate of a residency's ops is known; 0 without one.
    int after_predicate(const Residency& residency) const {
        if (!program_.ops[residency.first_op].predicate) {
            return 0;
        }
        const auto end = std::ranges::find(program_.ops, OpKind::step_end, &Op::kind);
        return static_cast<int>(end - program_.ops.begin()) + 1;
    }

    void insert() {
        std::vector<Op> ops;
        ops.reserve(program_.ops.size() + in_front_.size() + after_.size());
        auto front = in_front_.begin();
        auto back = after_.begin();
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            for (; front != in_front_.end() && std::get<0>(front->first) == i; ++front) {
                ops.push_back(std::move(front->second));
            }
            ops.push_back(std::move(program_.ops[i]));
            for (; back != after_.end() && std::get<0>(back->first) == i; ++back) {
                ops.push_back(std::move(back->second));
            }
        }
        program_.ops = std::move(ops);
    }

    Program& program_;
    int prefetch_, optimizer_prefetch_;
    UnitPasses unit_passes_;
    Residencies found_;
    std::vector<DeviceResidency> on_device_;
    std::map<std::size_t, std::vector<GradientHandover>> handovers_;  ///< by the residency that writes
    std::map<std::size_t, Stop> stops_;                               ///< by residency
    std::vector<int> at_home_;                        ///< by residency: the op after which changes go to NVMe
    std::map<int, std::vector<HomeChange>> changes_;  ///< by buffer as earlier passes name it
    std::map<TransferOrder, Op> in_front_, after_;
};

}  // namespace

std::vector<DeviceResidency> transfer_pass(ProgramBuilder& draft,
                                           const spec::RunSpec& spec,
                                           const ModelLayout& model,
                                           const std::vector<bool>& stays) {
    const auto homes = home_parts(draft.program, spec, model);
    split_by_home(draft.program, homes);
    return Transfers{draft.program, spec, homes, stays}.run(!stays.empty());
}

}  // namespace ziggurat::schedule
