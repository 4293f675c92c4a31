#include "schedule/passes/gather_pass.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "schedule/passes/gather_leases.hpp"

namespace ziggurat::schedule {
namespace {

/// Ops that are inserted before another op, in this order.
enum class Insertion { gather, keep, gather_from_copy };

class Gathers {
  public:
    Gathers(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : draft_{draft}, program_{draft.program}, spec_{spec}, model_{model}, leases_{draft, spec, model} {}

    void run() {
        const auto& leases = leases_.all();
        std::multimap<std::pair<int, Insertion>, Op> inserted;
        for (std::size_t i = 0; i < leases.size(); ++i) {
            const auto& lease = leases[i];
            const auto ahead = std::min(i, static_cast<std::size_t>(spec_.overlap.prefetch));
            const bool from_start = static_cast<std::size_t>(spec_.overlap.prefetch) > i;
            int issued = from_start ? 0 : leases[i - ahead].first_op;
            if (lease.from_copy) {
                issued = std::max(issued, leases_.copied_before(lease));
                inserted.emplace(std::pair{issued, Insertion::gather_from_copy}, gather_from_copy(lease));
            } else {
                inserted.emplace(std::pair{issued, Insertion::gather}, gather(lease));
            }
            if (lease.leaves_copy) {
                inserted.emplace(std::pair{lease.first_op, Insertion::keep}, keep(lease));
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
    const std::string& name(UnitId unit) const { return model_.table.units[unit].name; }

    /// Returns the bytes of a part's buffer that hold the part's share of `range`.
    ByteRange run_of(const LeasedPart& part, layout::ElementRange range) const {
        const auto begin = std::max(part.range.begin, range.begin);
        const auto end = std::min(part.range.end, range.end);
        return end <= begin ? ByteRange{}
                            : ByteRange{(begin - part.range.begin) * model_.element_bytes,
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
        op.label = name(lease.unit) + " gathered for " + leases_.purpose_of(lease);
        return op;
    }

    Op gather(const Lease& lease) const {
        const std::size_t unit = lease.unit;
        const auto& state = draft_.state.units[unit];
        auto op = collective(lease, Purpose::parameters, model_.spans.parameters);
        for (const auto& part : lease.parts) {
            if (state[StateKind::parameters] >= 0) {
                const auto shard =
                    lease.age > 0 ? state.stashes.at(lease.age - 1).kept : state[StateKind::parameters];
                add_region(op, part, shard, model_.flats[unit].trained(), model_.shards[unit]);
            }
            if (state[StateKind::frozen] >= 0) {
                add_region(op, part, state[StateKind::frozen], model_.flats[unit].frozen(),
                           model_.frozen_shards[unit]);
            }
        }
        return op;
    }

    /// Adds to the gather the part's share of `region` of the unit; this rank holds `shard` of the region.
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

    /// Returns the members whose blocks the op lists; empty if ProgramBuilder::names_blocks is false.
    std::vector<int> named_members(int span) const {
        return draft_.names_blocks ? layout::data_group(model_.data_rank, 1, span) : std::vector<int>{};
    }

    /// Returns the bytes of a part in a buffer of this rank; otherwise an empty range of the part's buffer.
    Operand own_part(const LeasedPart& part, BufferId buffer) const {
        const auto held = elements_of(program_.buffers[buffer]);
        const auto begin = std::max(held.begin, part.range.begin);
        const auto end = std::min(held.end, part.range.end);
        if (end <= begin) {
            return {part.buffer, Role::input, {{0, 0}}};
        }
        return {buffer,
                Role::input,
                {{(begin - held.begin) * model_.element_bytes, (end - begin) * model_.element_bytes}}};
    }

    /// Returns the range of the unit that data rank `rank` has in its second copy.
    layout::ElementRange slice(UnitId unit, int rank) const {
        const int span = spec_.sharding.secondary;
        const auto all = model_.held(unit);
        const auto size = all.size() / span;
        return {all.begin + rank % span * size, all.begin + (rank % span + 1) * size};
    }

    /// Copies this rank's slice of each part of a lease to its own buffer.
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
            auto buffer = program_.buffers[part.buffer];
            buffer.name = name(lease.unit) + ".secondary";
            buffer.state = StateKind::secondary;
            buffer.consumer = MemoryCategory::parameters;
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

    ProgramBuilder& draft_;
    Program& program_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    Leases leases_;
    /// (unit, first element of a part) -> its second copy
    std::map<std::pair<int, std::int64_t>, int> copies_;
};

}  // namespace

void gather_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    const int secondary = spec.sharding.secondary;
    const bool is_cut = std::any_of(model.tilings.begin(), model.tilings.end(),
                                    [](const auto& tiling) { return tiling.is_cut(); });
    ZG_EXPECTS(secondary == 0 || !is_cut);
    ZG_EXPECTS(secondary == 0 || spec.sharding.leases == spec::LeaseSpan::pass);
    ZG_EXPECTS(secondary == 0 || (secondary > 1 && model.spans.parameters % secondary == 0));
    if (model.spans.parameters > 1) {
        Gathers{draft, spec, model}.run();
    }
}

}  // namespace ziggurat::schedule
