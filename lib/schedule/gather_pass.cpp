#include "schedule/gather_pass.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/contract.hpp"

namespace ziggurat::schedule {
namespace {

/// The parameters of one unit for one pass of one micro-batch.
struct Lease {
    int unit = -1;
    int microbatch = -1;
    Direction direction = Direction::forward;
    int first_op = -1;  ///< index in the list before the pass
    int buffer = -1;
    bool from_copy = false;  ///< gathered from the second copy
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
                issued = std::max(issued, copied_before_.at(lease.unit));
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
    /// Who asks, of whose parameters, for which micro-batch, in backward.
    using Key = std::tuple<int, int, int, bool>;

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
                operand.buffer = leases_[at->second].buffer;
            }
        }
    }

    /// Which lease serves an op. Recomputation is a part of backward; the head has no parts.
    Key key(const Op& op, int owner) const {
        const bool is_head =
            model_.table.units[static_cast<std::size_t>(op.unit)].kind == layout::UnitKind::head;
        const bool is_backward =
            !is_head && op.direction != Direction::forward && op.direction != Direction::none;
        return {op.unit, owner, op.microbatch, is_backward};
    }

    Lease make(int unit, const Op& first, int first_op) {
        const auto& state = draft_.state.units[static_cast<std::size_t>(unit)];
        Lease lease;
        lease.unit = unit;
        lease.microbatch = first.microbatch;
        const bool is_backward = std::get<3>(key(first, unit));
        lease.direction = is_backward ? Direction::backward : Direction::forward;
        lease.first_op = first_op;
        auto buffer = program_.buffers[static_cast<std::size_t>(state.full_parameters)];
        buffer.name = name(unit) + ".parameters for " + to_string(lease.direction) + " " +
                      std::to_string(lease.microbatch);
        buffer.microbatch = lease.microbatch;
        buffer.consumer = consumer::leases;
        lease.buffer = program_.add_buffer(std::move(buffer));
        if (spec_.sharding.secondary > 0) {
            lease.from_copy = copied_before_.count(unit) == 1;
            lease.leaves_copy = !lease.from_copy && is_used_again(unit, first_op);
            copied_before_.try_emplace(unit, first_op);
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

    /// Place of `range` in the buffer of a lease of `unit`.
    Run run_of(int unit, layout::ElementRange range) const {
        return {(range.begin - model_.held(unit).begin) * model_.element_bytes,
                range.size() * model_.element_bytes};
    }

    Op collective(const Lease& lease, Purpose purpose, int span) const {
        Op op;
        op.kind = OpKind::all_gather;
        op.direction = lease.direction;
        op.purpose = purpose;
        op.unit = lease.unit;
        op.microbatch = lease.microbatch;
        op.payload = spec_.precision.compute;
        op.group = program_.group(model_.data_group_name(1, span), model_.data_members(1, span));
        op.lane = program_.lane(Engine::collective, op.group);
        op.label = name(lease.unit) + " gathered for " + to_string(lease.direction) + " " +
                   std::to_string(lease.microbatch);
        return op;
    }

    Op gather(const Lease& lease) const {
        const auto unit = static_cast<std::size_t>(lease.unit);
        const auto& state = draft_.state.units[unit];
        auto op = collective(lease, Purpose::parameters, model_.spans.parameters);
        if (state.parameters >= 0) {
            add_region(op, lease, state.parameters, model_.flats[unit].trained(), model_.shards[unit]);
        }
        if (state.frozen >= 0) {
            add_region(op, lease, state.frozen, model_.flats[unit].frozen(), model_.frozen_shards[unit]);
        }
        return op;
    }

    /// Gathers `region` of the unit, of which this rank has `shard`.
    void add_region(Op& op,
                    const Lease& lease,
                    int shard,
                    layout::ElementRange region,
                    const layout::ShardMap& map) const {
        const int span = model_.spans.parameters;
        op.reads.push_back(whole(program_, shard, "input"));
        op.writes.push_back({lease.buffer, "output", {run_of(lease.unit, region)}});
        for (const int member : layout::data_group(model_.data_rank, 1, span)) {
            op.blocks.push_back(run_of(lease.unit, map.shard(span, member)));
        }
    }

    /// The part of the unit that data rank `rank` has in its second copy.
    layout::ElementRange slice(int unit, int rank) const {
        const int span = spec_.sharding.secondary;
        const auto all = model_.held(unit);
        const auto size = all.size() / span;
        return {all.begin + rank % span * size, all.begin + (rank % span + 1) * size};
    }

    Op keep(const Lease& lease) {
        const auto mine = slice(lease.unit, model_.data_rank);
        auto buffer = program_.buffers[static_cast<std::size_t>(lease.buffer)];
        buffer.name = name(lease.unit) + ".secondary";
        buffer.state = StateKind::secondary;
        buffer.consumer = consumer::parameters;
        buffer.microbatch = -1;
        buffer.first_element = mine.begin;
        buffer.bytes = mine.size() * model_.element_bytes;
        copies_[lease.unit] = program_.add_buffer(std::move(buffer));
        Op op;
        op.kind = OpKind::copy;
        op.direction = lease.direction;
        op.purpose = Purpose::secondary;
        op.unit = lease.unit;
        op.label = name(lease.unit) + " second copy";
        op.reads.push_back({lease.buffer, "input", {run_of(lease.unit, mine)}});
        op.writes.push_back(whole(program_, copies_[lease.unit], "output"));
        return op;
    }

    Op gather_from_copy(const Lease& lease) const {
        const int span = spec_.sharding.secondary;
        auto op = collective(lease, Purpose::secondary, span);
        op.reads.push_back(whole(program_, copies_.at(lease.unit), "input"));
        op.writes.push_back(whole(program_, lease.buffer, "output"));
        for (const int member : layout::data_group(model_.data_rank, 1, span)) {
            op.blocks.push_back(run_of(lease.unit, slice(lease.unit, member)));
        }
        return op;
    }

    Draft& draft_;
    Program& program_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    std::map<int, int> owner_of_;       ///< what stands for a unit's parameters -> the unit
    std::vector<Lease> leases_;         ///< by first use
    std::map<int, int> copied_before_;  ///< unit -> the op in front of which its second copy is made
    std::map<int, int> copies_;         ///< unit -> its second copy
};

}  // namespace

void gather_pass(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    const int secondary = spec.sharding.secondary;
    ZG_EXPECTS(secondary == 0 || (secondary > 1 && model.spans.parameters % secondary == 0));
    if (model.spans.parameters > 1) {
        Gathers{draft, spec, model}.run();
    }
}

}  // namespace ziggurat::schedule
