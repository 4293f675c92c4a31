#include "train/account/run_account.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "comm/control.hpp"
#include "layout/counts.hpp"
#include "train/account/accounting_table.hpp"
#include "train/account/rank_lines.hpp"

namespace ziggurat::train {
namespace {

/// Number of steps in a trace file.
constexpr int traced_steps = 8;
/// Number of causes of waits that a rank reports for each lane.
constexpr std::size_t causes_reported = 8;

}  // namespace

RunAccount::RunAccount(const spec::RunSpec& spec,
                       const comm::Context& world,
                       Assembly& assembly,
                       const layout::FamilyTable& table,
                       const Peak& peak,
                       std::optional<PlannedStep> planned,
                       std::int64_t first_step)
    : spec_{spec},
      world_{world},
      assembly_{assembly},
      utilisation_{layout::flops_per_token(spec), world.size(), peak},
      planned_step_{std::move(planned)},
      times_{first_step},
      ops_{assembly.train_executor().program(), table, assembly.times(), times_},
      traffic_{assembly.train_executor().program(),
               [&assembly](schedule::OpId op) { return assembly.bytes_moved(op); }},
      links_{assembly.train_executor().program(),
             [&assembly](schedule::OpId op) { return assembly.bytes_moved(op); },
             [&assembly](schedule::OpId op) { return assembly.skipped_bytes(op); },
             [&assembly](schedule::OpId op) { return assembly.times_run(op); }},
      bottleneck_facts_{bottleneck_facts(spec, assembly.train_executor().program())} {
    plan_of_all_ranks();
    if (spec.run.trace) {
        trace_.emplace(world.rank(), ops_.trace_lanes(), traced_steps);
    }
}

void RunAccount::end_start() {
    process_start_bytes_ =
        std::max<std::int64_t>(0, resident_.own_peak_bytes() - assembly_.private_resident_bytes());
}

void RunAccount::begin_step(std::int64_t step) {
    if (trace_) {
        trace_->begin_step(step);
    }
}

void RunAccount::add_step(StepReport& report) {
    const auto records = assembly_.train_executor().records();
    auto& saves = assembly_.state().stream_to_save;
    ops_.add(assembly_.train_executor(), saves.waits(), report);
    saves.forget_waits();
    traffic_.count(records);
    links_.count(records);
    if (trace_) {
        ops_.add_to(*trace_, records);
    }
}

void RunAccount::add_outcome(StepReport& report) const {
    const auto& figures = assembly_.outcome().figures;
    report.sent_bytes = figures.sent_bytes;
    report.planned_bytes = planned_.sent_bytes;
    report.link_bytes = figures.link_bytes;
    report.planned_link_bytes = planned_.link_bytes;
    report.process_peak_bytes = figures.process_peak_bytes;
}

void RunAccount::add_utilisation(StepReport& report) noexcept {
    if (utilisation_.is_known()) {
        report.mfu = utilisation_.of_step(report.tok_s);
        report.peak_flops_rank = utilisation_.peak();
    }
    if (planned_step_ && planned_step_->is_known() && report.step_s > 0) {
        report.plan_bound_share = planned_step_->bound_seconds / report.step_s;
    }
}

void RunAccount::add_rest() {
    auto& saves = assembly_.state().stream_to_save;
    ops_.add_rest(assembly_.train_executor(), saves.waits());
    saves.forget_waits();
    traffic_.count(assembly_.train_executor().records(), false);
    links_.count(assembly_.train_executor().records(), false);
}

void RunAccount::plan_of_all_ranks() {
    planned_.sent_bytes = traffic_.planned();
    planned_.link_bytes = links_.planned();
    comm::all_reduce_sum(world_, planned_.sent_bytes);
    comm::all_reduce_sum(world_, planned_.link_bytes);
    std::array<std::int64_t, 2> holds{holds_more_than_control(assembly_.train_executor().program()) ? 1 : 0,
                                      assembly_.arena_bytes(spec::Tier::nvme) > 0 ? 1 : 0};
    comm::all_reduce_max(world_, holds);
    for (std::size_t i = 0; i < num_stalls; ++i) {
        fields_.stalls[i] = ops_.can_stall(static_cast<Stall>(i), world_.size());
    }
    for (std::size_t i = 0; i < fields_.sent.size(); ++i) {
        fields_.sent[i] = planned_.sent_bytes[i] > 0;
    }
    for (std::size_t i = 0; i < fields_.moved.size(); ++i) {
        fields_.moved[i] = planned_.link_bytes[i] > 0;
    }
    fields_.host = holds[0] > 0;
    fields_.nvme = holds[1] > 0;
}

void RunAccount::measure(StepFigures& mine) {
    const auto sent = assembly_.bytes_moved();
    const auto moved = assembly_.bytes_by_link();
    std::ranges::transform(sent, last_reported_.sent_bytes, mine.sent_bytes.begin(), std::minus{});
    std::ranges::transform(moved, last_reported_.link_bytes, mine.link_bytes.begin(), std::minus{});
    last_reported_.sent_bytes = sent;
    last_reported_.link_bytes = moved;
    own_step_bytes_ = std::max(own_step_bytes_, resident_.own_bytes());
}

RankMemory RunAccount::rank_memory() const {
    RankMemory memory;
    for (const auto tier : {spec::Tier::device, spec::Tier::host, spec::Tier::nvme}) {
        memory.reserved[tier] = assembly_.arena_bytes(tier);
        memory.resident[tier] = assembly_.resident_bytes(tier);
    }
    const auto arenas = assembly_.private_resident_bytes();
    memory.process_start = process_start_bytes_;
    memory.process_step = std::max<std::int64_t>(0, own_step_bytes_ - arenas);
    memory.process_peak = std::max<std::int64_t>(0, resident_.own_peak_bytes() - arenas);
    return memory;
}

std::string RunAccount::own_table() const {
    const auto mine = times_.record();
    return account_table({&mine, 1}, layout::flops_per_token(spec_));
}

std::string RunAccount::table(RunEnd* end) const {
    auto record = times_.record();
    record.flows = traffic_.flows();
    record.links = links_.uses();
    record.paths = assembly_.path_uses();
    record.idle_disk_seconds = links_.idle_disk_seconds();
    record.memory = rank_memory();
    record.stall_causes = ops_.stall_causes().longest(causes_reported);
    const auto records =
        gather_records(record, [this](const std::string& text) { return comm::gather(world_, text); });
    if (end != nullptr) {
        for (const auto& of_rank : records) {
            add_up(of_rank.flows, end->sent_bytes, end->planned_bytes);
            add_up(of_rank.links, end->link_bytes, end->planned_link_bytes);
        }
        end->rank_lines = rank_lines(records);
    }
    return world_.rank() == 0
               ? account_table(records, layout::flops_per_token(spec_), &bottleneck_facts_,
                               utilisation_.of_one_token_s(), planned_step_ ? &*planned_step_ : nullptr)
               : "";
}

void RunAccount::write_trace(const std::string& folder) const {
    if (trace_) {
        trace_->write(folder + "/" + trace_file_name(world_.rank()));
    }
}

}  // namespace ziggurat::train
