#include "train/step/assembly.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "comm/backoff.hpp"
#include "schedule/build_program.hpp"
#include "spec/passes_with_cache.hpp"
#include "state/initial_parameters.hpp"
#include "train/step/assembly_parts.hpp"
#include "train/step/weights_hash.hpp"

namespace ziggurat::train {

void Assembly::set_tensor(const std::string& name, std::span<const float> values) {
    parts_->tensors.set(name, values);
}

std::vector<float> Assembly::tensor(schedule::StateKind kind, const std::string& name) const {
    return parts_->tensors.get(kind, name);
}

Programs build_programs(const spec::RunSpec& spec, int world_rank) {
    Programs made{schedule::build_program(spec, world_rank, schedule::Variant::train),
                  schedule::build_program(spec, world_rank, schedule::Variant::evaluate),
                  build_cached_programs(spec, world_rank)};
    if (spec.overlap.delayed_update) {
        made.publish = schedule::build_program(spec, world_rank, schedule::Variant::publish);
    }
    return made;
}

std::vector<schedule::Program> build_cached_programs(const spec::RunSpec& spec, int world_rank) {
    if (spec::cached_passes(spec).sequences == 0) {
        return {};
    }
    return {schedule::build_cached_program(spec, world_rank, schedule::CachedKind::prompt),
            schedule::build_cached_program(spec, world_rank, schedule::CachedKind::logits)};
}

Assembly::Assembly(const spec::RunSpec& spec, const comm::Context& world, const device::RankDevices& devices)
    : Assembly{spec, build_programs(spec, world.rank()), world, devices} {}

Assembly::Assembly(const spec::RunSpec& spec,
                   Programs programs,
                   const comm::Context& world,
                   const device::RankDevices& devices,
                   StateInit at_first,
                   const ProductRecord& products)
    : parts_{std::make_unique<Parts>(spec, std::move(programs), world, devices, products)} {
    if (at_first == StateInit::initial) {
        set_initial_values();
    }
}

Assembly::~Assembly() = default;

comm::Context Assembly::world() const {
    return parts_->world.with_background(parts_->executors);
}

void Assembly::set_initial_values(state::RandomTensors drawn) {
    state::set_initial_values(parts_->spec, parts_->model.table, parts_->train, parts_->devices.host,
                              parts_->model.tensor_position(), parts_->memory, drawn);
}

bool Assembly::computes_late() const {
    return parts_->stream.is_late();
}

Executor& Assembly::train_executor() {
    return parts_->train_executor;
}

bool Assembly::complete_update(std::int64_t steps_done) {
    const auto& overlap = parts_->spec.overlap;
    if (!overlap.delayed_update || steps_done > overlap.delayed_update_after) {
        return false;
    }
    parts_->train_executor.finish();
    parts_->publication->executor->run_step();
    parts_->publication->executor->finish();
    return true;
}

const NodeTimes& Assembly::times() const {
    return parts_->times;
}

Executor& Assembly::evaluator() {
    return parts_->evaluate_executor;
}

std::span<const BatchSlot> Assembly::train_slots() const {
    return parts_->train_slots;
}

const BatchSlot& Assembly::evaluate_slot() const {
    return parts_->evaluate_slots.front();
}

kernels::StepInputs& Assembly::step_inputs() {
    return parts_->step_inputs;
}

StepRequests& Assembly::step_requests() {
    return parts_->step_end.step_requests();
}

void Assembly::abandon_step() {
    if (parts_->step_end.num_started() < parts_->train_executor.steps_begun()) {
        parts_->train_executor.abandon_step();
    }
}

void Assembly::limit(const SpikeLimits& limits) {
    parts_->step_end.limit(limits);
}

void Assembly::split_losses(std::vector<SourceLoss> sources,
                            std::function<std::size_t(std::int64_t sample)> source_of) {
    parts_->step_end.split_losses(std::move(sources), std::move(source_of));
}

const StepOutcome& Assembly::outcome() const {
    return parts_->step_end.outcome();
}

std::int64_t Assembly::runs_to_fill() const {
    return schedule::runs_in_flight(parts_->train);
}

void Assembly::fill_pipeline(std::int64_t first_step) {
    ZG_EXPECTS(parts_->train_executor.is_drained());
    parts_->pipeline_fill.first_step = first_step;
    parts_->step_of_first_run = first_step - runs_to_fill() - parts_->train_executor.steps_begun();
}

void Assembly::drain_pipeline(std::int64_t end_step) {
    parts_->pipeline_fill.end_step = end_step;
}

const schedule::PipelineFill& Assembly::pipeline_fill() const {
    return parts_->pipeline_fill;
}

void Assembly::wait_for_outcome() {
    comm::Backoff idle{&parts_->node};
    while (!parts_->step_end.take_outcome()) {
        parts_->executors.advance();
        parts_->world.waits().check("the end of a step on other stages");
        idle.idle();
    }
    parts_->world.waits().end_wait();
}

void Assembly::poll_outcomes() {
    parts_->step_end.poll_outcomes();
}

std::vector<UnitNorms> Assembly::unit_norms() {
    parts_->train_executor.finish();
    return train::unit_norms(world(), parts_->model, parts_->train, parts_->memory);
}

void Assembly::add_step_end_hook(std::function<void(StepFigures&)> measure) {
    parts_->step_end.add_step_end_hook(std::move(measure));
}

CachedProgram& Assembly::cached(schedule::CachedKind kind) {
    return parts_->cached_programs.at(static_cast<std::size_t>(kind));
}

CachePages& Assembly::cache_pages() {
    return parts_->cache_pages;
}

void Assembly::copy_cache_page(layout::CacheLayers layers, std::int32_t from, std::int32_t to) {
    const auto bytes = layout::cache_page_bytes(parts_->spec);
    std::vector<std::byte> page(bytes);
    for (const auto& buffer : parts_->cached.front().buffers) {
        if (buffer.consumer != schedule::MemoryCategory::kv_cache ||
            buffer.lifetime != schedule::Lifetime::persistent) {
            continue;
        }
        if (cache_layers_of(parts_->model, buffer.unit) == layers) {
            parts_->memory.read(buffer, from * bytes, page);
            parts_->memory.write(buffer, to * bytes, page);
        }
    }
}

void Assembly::watch_logits(std::int64_t row) {
    parts_->watch.set_rows(row, 1);
}

std::span<const float> Assembly::watched_logits() const {
    return parts_->watch.logits(world());
}

std::int64_t Assembly::bytes_moved(schedule::OpId op) const {
    return parts_->train_groups.bytes_moved(op) + parts_->train_executor.bytes_moved(op);
}

std::int64_t Assembly::skipped_bytes(schedule::OpId op) const {
    return parts_->train_executor.skipped_bytes(op);
}

std::int64_t Assembly::times_run(schedule::OpId op) const {
    return parts_->train_executor.times_run(op);
}

schedule::BytesByPurpose Assembly::bytes_moved() const {
    schedule::BytesByPurpose moved{};
    for (std::size_t i = 0; i < parts_->train.ops.size(); ++i) {
        moved[parts_->train.ops[i].purpose] += parts_->train_groups.bytes_moved(static_cast<int>(i));
    }
    return moved;
}

schedule::BytesByLink Assembly::bytes_by_link() const {
    schedule::BytesByLink moved{};
    for (std::size_t i = 0; i < parts_->train.ops.size(); ++i) {
        const auto link = schedule::link_of(parts_->train.ops[i], parts_->train);
        if (link && schedule::moves_state(parts_->train.ops[i])) {
            moved[*link] += parts_->train_executor.bytes_moved(static_cast<int>(i));
        }
    }
    return moved;
}

const std::vector<std::string>& Assembly::notes() const {
    return parts_->notes;
}

std::vector<NvmePathStats> Assembly::path_uses() const {
    return parts_->nvme.path_uses();
}

const std::string& Assembly::not_shared_reason() const {
    return parts_->node.not_shared_reason();
}

const kernels::AttentionOps& Assembly::attention_ops() const {
    return std::visit(
        [](const auto& binder) -> const kernels::AttentionOps& { return binder.attention_ops(); },
        parts_->binder);
}

const model::GluOps& Assembly::glu_ops() const {
    return std::visit([](const auto& binder) -> const model::GluOps& { return binder.glu_ops(); },
                      parts_->binder);
}

const ProductRecord& Assembly::products() const {
    return parts_->products;
}

std::int64_t Assembly::arena_bytes(spec::Tier tier) const {
    return parts_->memory.bytes(tier);
}

std::int64_t Assembly::resident_bytes(spec::Tier tier) const {
    return parts_->memory.resident_bytes(tier);
}

std::int64_t Assembly::private_arena_bytes() const {
    return parts_->memory.private_bytes();
}

std::int64_t Assembly::private_resident_bytes() const {
    return parts_->memory.private_resident_bytes();
}

StateView Assembly::state() const {
    return {parts_->model,   parts_->train, parts_->memory,
            parts_->devices, parts_->saves, [parts = parts_.get()] { parts->train_executor.finish(); }};
}

std::uint64_t Assembly::weights_hash(layout::PieceKind kind) const {
    return train::weights_hash(world(), parts_->model, parts_->train, parts_->memory, kind);
}

}  // namespace ziggurat::train
