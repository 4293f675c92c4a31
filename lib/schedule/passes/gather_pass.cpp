#include "schedule/passes/gather_pass.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/contract.hpp"

namespace ziggurat::schedule {
namespace {

/// Elements of a unit's flat range in a buffer of their own.
struct LeasedPart {
    layout::ElementRange range;
    int buffer = -1;
};

/// The parameters of one unit, or of a segment of it, for one pass of one micro-batch.
struct Lease {
    int unit = -1;
    int microbatch = -1;
    Direction direction = Direction::forward;
    int first_op = -1;  ///< index in the list before the pass
    std::vector<LeasedPart> parts;
    std::pair<int, int> copied{-1, -1};  ///< whose second copy it leaves or uses: unit and segment
    bool from_copy = false;              ///< gathered from the second copy
    bool leaves_copy = false;
};

/// What comes in front of an op, in this order.
enum class Place { gather, keep, gather_from_copy };

class Gathers {
  public:
    Gathers(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : draft_{draft}, program_{draft.program}, spec_{spec}, model_{model} {
        for (const int u : model.units) {
            owner_of_[draft.state.units[static_cast<std::size_t>(u)].full_parameters] = u;
        }
    }

    void run() {
        find_leases();
        std::multimap<std::pair<int, Place>, Op> inserted;
        for (std::size_t i = 0; i < leases_.size(); ++i) {
            const auto& lease = leases_[i];
            const auto ahead = std::min(i, static_cast<std::size_t>(spec_.overlap.prefetch));
            const bool from_start = static_cast<std::size_t>(spec_.overlap.prefetch) > i;
            int issued = from_start ? 0 : leases_[i - ahead].first_op;
            if (lease.from_copy) {
                issued = std::max(issued, copied_before_.at(lease.copied));
                inserted.emplace(std::pair{issued, Place::gather_from_copy}, gather_from_copy(lease));
            } else {
                inserted.emplace(std::pair{issued, Place::gather}, gather(lease));
            }
            if (lease.leaves_copy) {
                inserted.emplace(std::pair{lease.first_op, Place::keep}, keep(lease));
            }
        }
        std::vector<Op> ops;
        auto next = inserted.begin();
        for (std::size_t i = 0; i < program_.ops.size(); ++i) {
            for (; next != inserted.end() && next->first.first == static_cast<int>(i); ++next) {
                ops.push_back(std::move(next->second));
            }
            ops.push_back(std::move(program_.ops[i]));
        }
        program_.ops = std::move(ops);
    }

  private:
    /// Who asks, of whose parameters, for which micro-batch, in which pass, for which segment.
    using Key = std::tuple<int, int, int, int, int>;

    /// Names the leases and puts their buffers in the place of what stands for them.
    void find_leases() {
        std::map<Key, std::size_t> known;
        for (std::size_t i = 0; i < program_.ops.size(); ++i) {
            auto& op = program_.ops[i];
            for (auto& operand : op.reads) {
                const auto owner = owner_of_.find(operand.buffer);
                if (owner == owner_of_.end()) {
                    continue;
                }
                const auto [at, is_new] = known.try_emplace(key(op, owner->second), leases_.size());
                if (is_new) {
                    leases_.push_back(make(owner->second, op, static_cast<int>(i)));
                }
                name_part(leases_[at->second], operand);
            }
        }
    }

    /// Which lease serves an op. Recomputation is a part of backward; the head has no parts. Of a unit that
    /// is cut, both are passes of their own: no segment stays for the next one.
    Key key(const Op& op, int owner) const {
        const bool is_head =
            model_.table.units[static_cast<std::size_t>(op.unit)].kind == layout::UnitKind::head;
        const bool is_forward = op.direction == Direction::forward || op.direction == Direction::none;
        if (!model_.tiling(owner).is_cut()) {
            return {op.unit, owner, op.microbatch, is_head || is_forward ? 0 : 1, -1};
        }
        const int pass = is_forward ? 0 : op.direction == Direction::recompute && !is_head ? 2 : 1;
        return {op.unit, owner, op.microbatch, pass, op.segment};
    }

    /// Lets an operand name the part of the lease that holds it; a segment's parts are those that are asked
    /// for.
    void name_part(Lease& lease, Operand& operand) {
        if (!model_.tiling(lease.unit).is_cut()) {
            operand.buffer = lease.parts.front().buffer;
            return;
        }
        ZG_ENSURES(operand.runs.size() == 1);
        auto& run = operand.runs.front();
        const auto first = model_.held(lease.unit).begin + run.offset / model_.element_bytes;
        const layout::ElementRange range{first, first + run.bytes / model_.element_bytes};
        auto part = std::find_if(lease.parts.begin(), lease.parts.end(),
                                 [&](const LeasedPart& known) { return known.range == range; });
        if (part == lease.parts.end()) {
            part = lease.parts.insert(part, make_part(lease, range));
        }
        operand.buffer = part->buffer;
        run.offset = 0;
    }

    LeasedPart make_part(const Lease& lease, layout::ElementRange range) {
        const auto& state = draft_.state.units[static_cast<std::size_t>(lease.unit)];
        auto buffer = program_.buffers[static_cast<std::size_t>(state.full_parameters)];
        buffer.name = name(lease.unit) + ".parameters for " + to_string(lease.direction) + " " +
                      std::to_string(lease.microbatch);
        buffer.microbatch = lease.microbatch;
        buffer.consumer = Consumer::leases;
        buffer.first_element = range.begin;
        buffer.bytes = range.size() * model_.element_bytes;
        return {range, program_.add_buffer(std::move(buffer))};
    }

    Lease make(int unit, const Op& first, int first_op) {
        Lease lease;
        lease.unit = unit;
        lease.microbatch = first.microbatch;
        const bool is_backward = std::get<3>(key(first, unit)) > 0;
        lease.direction = is_backward ? Direction::backward : Direction::forward;
        lease.first_op = first_op;
        if (!model_.tiling(unit).is_cut()) {
            lease.parts.push_back(make_part(lease, model_.held(unit)));
        }
        if (spec_.sharding.secondary > 0) {
            lease.copied = {unit, model_.tiling(unit).is_cut() ? first.segment : -1};
            lease.from_copy = copied_before_.count(lease.copied) == 1;
            lease.leaves_copy = !lease.from_copy && is_used_again(unit, first_op);
            copied_before_.try_emplace(lease.copied, first_op);
        }
        return lease;
    }

    /// Whether another lease of the unit follows: one for a lookup alone of a single micro-batch has no use
    /// for a second copy.
    bool is_used_again(int unit, int first_op) const {
        const int placeholder = draft_.state.units[static_cast<std::size_t>(unit)].full_parameters;
        const auto first = key(program_.ops[static_cast<std::size_t>(first_op)], unit);
        return std::any_of(program_.ops.begin() + first_op, program_.ops.end(), [&](const Op& op) {
            return std::any_of(op.reads.begin(), op.reads.end(), [&](const Operand& operand) {
                return operand.buffer == placeholder && key(op, unit) != first;
            });
        });
    }

    const std::string& name(int unit) const {
        return model_.table.units[static_cast<std::size_t>(unit)].name;
    }

    /// Place in the buffer of a part of what it has of `range`.
    ByteRun run_of(const LeasedPart& part, layout::ElementRange range) const {
        const auto begin = std::max(part.range.begin, range.begin);
        const auto end = std::min(part.range.end, range.end);
        return end <= begin ? ByteRun{}
                            : ByteRun{(begin - part.range.begin) * model_.element_bytes,
                                      (end - begin) * model_.element_bytes};
    }

    Op collective(const Lease& lease, Purpose purpose, int span) const {
        Op op;
        op.kind = OpKind::all_gather;
        op.direction = lease.direction;
        op.purpose = purpose;
        op.unit = lease.unit;
        op.microbatch = lease.microbatch;
        op.payload = spec_.precision.compute;
        op.group = data_group(program_, model_, 1, span);
        op.lane = program_.lane(Engine::collective, op.group);
        op.label = name(lease.unit) + " gathered for " + to_string(lease.direction) + " " +
                   std::to_string(lease.microbatch);
        return op;
    }

    Op gather(const Lease& lease) const {
        const auto unit = static_cast<std::size_t>(lease.unit);
        const auto& state = draft_.state.units[unit];
        auto op = collective(lease, Purpose::parameters, model_.spans.parameters);
        for (const auto& part : lease.parts) {
            if (state[StateKind::parameters] >= 0) {
                add_region(op, part, state[StateKind::parameters], model_.flats[unit].trained(),
                           model_.shards[unit]);
            }
            if (state[StateKind::frozen] >= 0) {
                add_region(op, part, state[StateKind::frozen], model_.flats[unit].frozen(),
                           model_.frozen_shards[unit]);
            }
        }
        return op;
    }

    /// Gathers what the part has of `region` of the unit, of which this rank has `shard`.
    void add_region(Op& op,
                    const LeasedPart& part,
                    int shard,
                    layout::ElementRange region,
                    const layout::ShardMap& map) const {
        const auto gathered = run_of(part, region);
        if (gathered.bytes == 0) {
            return;
        }
        const int span = model_.spans.parameters;
        op.reads.push_back(own_part(part, shard));
        op.writes.push_back({part.buffer, Role::output, {gathered}});
        for (const int member : named_members(span)) {
            op.blocks.push_back(run_of(part, map.shard(span, member)));
        }
    }

    /// Whose blocks are named.
    std::vector<int> named_members(int span) const {
        return draft_.names_blocks ? layout::data_group(model_.data_rank, 1, span) : std::vector<int>{};
    }

    /// What a buffer of this rank has of a part; where it has nothing, nothing of the part's own.
    Operand own_part(const LeasedPart& part, int buffer) const {
        const auto held = elements_of(program_.buffers[static_cast<std::size_t>(buffer)]);
        const auto begin = std::max(held.begin, part.range.begin);
        const auto end = std::min(held.end, part.range.end);
        if (end <= begin) {
            return {part.buffer, Role::input, {{0, 0}}};
        }
        return {buffer,
                Role::input,
                {{(begin - held.begin) * model_.element_bytes, (end - begin) * model_.element_bytes}}};
    }

    /// The part of the unit that data rank `rank` has in its second copy.
    layout::ElementRange slice(int unit, int rank) const {
        const int span = spec_.sharding.secondary;
        const auto all = model_.held(unit);
        const auto size = all.size() / span;
        return {all.begin + rank % span * size, all.begin + (rank % span + 1) * size};
    }

    /// Copies what this rank is to have of the parts of a lease, each to a buffer of its own.
    Op keep(const Lease& lease) {
        Op op;
        op.kind = OpKind::copy;
        op.direction = lease.direction;
        op.purpose = Purpose::secondary;
        op.unit = lease.unit;
        op.label = name(lease.unit) + " second copy";
        const auto mine = slice(lease.unit, model_.data_rank);
        for (const auto& part : lease.parts) {
            const auto kept = run_of(part, mine);
            if (kept.bytes == 0) {
                continue;
            }
            auto buffer = program_.buffers[static_cast<std::size_t>(part.buffer)];
            buffer.name = name(lease.unit) + ".secondary";
            buffer.state = StateKind::secondary;
            buffer.consumer = Consumer::parameters;
            buffer.microbatch = -1;
            buffer.first_element = std::max(mine.begin, part.range.begin);
            buffer.bytes = kept.bytes;
            const int copy = program_.add_buffer(std::move(buffer));
            copies_[{lease.unit, part.range.begin}] = copy;
            op.reads.push_back({part.buffer, Role::input, {kept}});
            op.writes.push_back(whole(program_, copy, Role::output));
        }
        return op;
    }

    Op gather_from_copy(const Lease& lease) const {
        const int span = spec_.sharding.secondary;
        auto op = collective(lease, Purpose::secondary, span);
        for (const auto& part : lease.parts) {
            const auto copy = copies_.find({lease.unit, part.range.begin});
            op.reads.push_back(copy == copies_.end() ? Operand{part.buffer, Role::input, {{0, 0}}}
                                                     : own_part(part, copy->second));
            op.writes.push_back(whole(program_, part.buffer, Role::output));
            for (const int member : named_members(span)) {
                op.blocks.push_back(run_of(part, slice(lease.unit, member)));
            }
        }
        return op;
    }

    Draft& draft_;
    Program& program_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    std::map<int, int> owner_of_;  ///< what stands for a unit's parameters -> the unit
    std::vector<Lease> leases_;    ///< by first use
    /// (unit, segment) -> the op in front of which its second copy is made
    std::map<std::pair<int, int>, int> copied_before_;
    /// (unit, first element of a part) -> its second copy
    std::map<std::pair<int, std::int64_t>, int> copies_;
};

}  // namespace

void gather_pass(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    const int secondary = spec.sharding.secondary;
    const bool is_cut = std::any_of(model.tilings.begin(), model.tilings.end(),
                                    [](const auto& tiling) { return tiling.is_cut(); });
    ZG_EXPECTS(secondary == 0 || !is_cut);
    ZG_EXPECTS(secondary == 0 || (secondary > 1 && model.spans.parameters % secondary == 0));
    if (model.spans.parameters > 1) {
        Gathers{draft, spec, model}.run();
    }
}

}  // namespace ziggurat::schedule
