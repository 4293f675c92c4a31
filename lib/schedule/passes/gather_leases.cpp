#include "schedule/passes/gather_leases.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ziggurat::schedule {

Leases::Leases(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
    : draft_{draft}, program_{draft.program}, spec_{spec}, model_{model} {
    for (const UnitId u : model.units) {
        const auto& state = draft.state.units[u];
        owner_of_[state.full_parameters] = {u, 0};
        for (std::size_t i = 0; i < state.stashes.size(); ++i) {
            owner_of_[state.stashes[i].full_parameters] = {u, static_cast<int>(i) + 1};
        }
    }
    find();
}

/// Finds all leases and replaces the placeholders in operands by the buffers of the leases.
void Leases::find() {
    std::map<Key, std::size_t> known;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
        auto& op = program_.ops[i];
        for (auto& operand : op.reads) {
            const auto owner = owner_of_.find(operand.buffer);
            if (owner == owner_of_.end()) {
                continue;
            }
            const auto [unit, age] = owner->second;
            const auto [at, is_new] = known.try_emplace(key(op, unit), leases_.size());
            if (is_new) {
                leases_.push_back(make(unit, age, op, static_cast<int>(i)));
            }
            ZG_ENSURES(leases_[at->second].age == age);
            name_part(leases_[at->second], operand);
        }
    }
}

/// Returns the key of the lease that serves an op.
///
/// Recomputation belongs to backward, and the head has one pass. For a tiled unit, recomputation and each
/// pass of the head have their own leases, because no segment is kept for a later pass.
Leases::Key Leases::key(const Op& op, UnitId owner) const {
    const bool is_head = model_.table.units[op.unit].kind == layout::UnitKind::head;
    const bool is_forward = op.direction == Direction::forward || op.direction == Direction::none;
    if (is_for_step(owner)) {
        return {owner, owner, -1, 0, -1};
    }
    if (!model_.tiling(owner).is_cut()) {
        return {op.unit, owner, microbatch_of(op, owner), is_head || is_forward ? 0 : 1, -1};
    }
    const int pass = is_forward ? 0 : op.direction == Direction::recompute && !is_head ? 2 : 1;
    return {op.unit, owner, op.microbatch, pass, op.segment};
}

bool Leases::is_for_step(UnitId owner) const {
    return spec_.sharding.leases == spec::LeaseSpan::step && !model_.tiling(owner).is_cut();
}

/// Returns the micro-batch of the lease that serves an op; -1 if the lease serves all of them.
int Leases::microbatch_of(const Op& op, UnitId owner) const {
    const bool serves_all = is_for_step(owner) || (program_.is_by_layer && !model_.tiling(owner).is_cut());
    return serves_all ? -1 : op.microbatch;
}

/// Makes an operand name the part of the lease that holds it. A segment gets only the parts that ops
/// read.
void Leases::name_part(Lease& lease, Operand& operand) {
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

std::string Leases::purpose_of(const Lease& lease) const {
    if (is_for_step(lease.unit)) {
        return "the step";
    }
    return std::string{to_string(lease.direction)} +
           (lease.microbatch < 0 ? "" : " " + std::to_string(lease.microbatch));
}

LeasedPart Leases::make_part(const Lease& lease, layout::ElementRange range) {
    const auto& state = draft_.state.units[lease.unit];
    auto buffer = program_.buffers[state.full_parameters];
    buffer.name = model_.table.units[lease.unit].name + ".parameters for " + purpose_of(lease);
    buffer.microbatch = lease.microbatch;
    buffer.consumer = MemoryCategory::leases;
    buffer.first_element = range.begin;
    buffer.bytes = range.size() * model_.element_bytes;
    buffer.stays_on_host = lease.is_on_host;
    buffer.tier = lease.is_on_host ? spec::Tier::host : spec::Tier::device;
    return {range, program_.add_buffer(std::move(buffer))};
}

Lease Leases::make(UnitId unit, int age, const Op& first, int first_op) {
    Lease lease;
    lease.unit = unit;
    lease.age = age;
    lease.microbatch = microbatch_of(first, unit);
    const bool is_backward = std::get<3>(key(first, unit)) > 0;
    lease.direction = is_backward ? Direction::backward : Direction::forward;
    lease.first_op = first_op;
    lease.is_on_host = model_.stays_on_host(unit) && (first.unit == unit || is_for_step(unit));
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

/// True if another lease of the unit follows. A lookup without a later lease needs no second copy.
bool Leases::is_used_again(UnitId unit, int first_op) const {
    const int placeholder = draft_.state.units[unit].full_parameters;
    const auto first = key(program_.ops[first_op], unit);
    return std::any_of(program_.ops.begin() + first_op, program_.ops.end(), [&](const Op& op) {
        return std::any_of(op.reads.begin(), op.reads.end(), [&](const Operand& operand) {
            return operand.buffer == placeholder && key(op, unit) != first;
        });
    });
}

}  // namespace ziggurat::schedule
