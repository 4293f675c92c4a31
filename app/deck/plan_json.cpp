#include "app/deck/plan_json.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/deck/deck_json.hpp"
#include "app/deck/plan_summary.hpp"
#include "plan/planned_time.hpp"
#include "plan/rank_programs.hpp"
#include "plan/report/time_report.hpp"
#include "plan/time_to_train.hpp"
#include "schedule/build_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "schedule/volumes/volumes.hpp"
#include "spec/home_text.hpp"

namespace ziggurat::app {
namespace {

using schedule::OpKind;
using schedule::Program;

Json text_or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json known(double value) {
    return value > 0 ? Json(value) : Json(nullptr);
}

/// Returns the bytes of collectives and messages per step, by kind and purpose.
Json collectives_json(const Program& program) {
    struct Sum {
        std::int64_t ops = 0, bytes = 0;
    };
    std::map<std::pair<schedule::Purpose, OpKind>, Sum> sums;
    for (const auto& op : program.ops) {
        if (!schedule::is_collective(op.kind)) {
            continue;
        }
        auto& sum = sums[{op.purpose, op.kind}];
        ++sum.ops;
        sum.bytes += schedule::bytes_sent(op, program);
        for (const auto& operand : op.writes) {
            sum.bytes += op.kind == OpKind::receive ? operand.bytes() : 0;
        }
    }
    Json list = Json::array();
    for (const auto& [of, sum] : sums) {
        list.push_back({{"purpose", to_string(of.first)},
                        {"kind", to_string(of.second)},
                        {"ops", sum.ops},
                        {"bytes", sum.bytes}});
    }
    return list;
}

/// Returns the bytes of state and activations between tiers per step, by lane.
Json transfers_json(const Program& program) {
    const auto bytes = schedule::bytes_by_link(program);
    const auto control = schedule::control_bytes_by_link(program);
    const auto redone = schedule::bytes_of_redone_updates(program);
    Json list = Json::array();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] + control[i] + redone[i] > 0) {
            list.push_back({{"lane", to_string(static_cast<schedule::Link>(i))},
                            {"moved_B", bytes[i]},
                            {"redone_B", redone[i]},
                            {"control_B", control[i]}});
        }
    }
    return list;
}

/// Returns the memory of a rank's process, by phase of a run.
Json process_json(const plan::ProcessMemory& process, std::int64_t tier_bytes) {
    const auto of_phases = [](const plan::PhaseBytes& bytes, std::int64_t more = 0) {
        return Json{{"start_B", bytes[plan::RunPhase::start] + more},
                    {"step_B", bytes[plan::RunPhase::step] + more},
                    {"save_B", bytes[plan::RunPhase::save] + more},
                    {"resume_B", bytes[plan::RunPhase::resume] + more}};
    };
    Json rows = Json::array();
    for (const auto& row : process.rows) {
        auto json = of_phases(row.bytes);
        json["part"] = to_string(row.part);
        json["detail"] = row.detail;
        json["measured"] = row.is_measured;
        rows.push_back(std::move(json));
    }
    return {{"rows", rows},
            {"total", of_phases(process.total)},
            {"resident", of_phases(process.total, tier_bytes)},
            {"largest_phase", to_string(process.largest_phase())}};
}

/// Returns the memory of processes: of the fullest rank of each stage, and of all ranks of a node.
Json processes_json(const plan::MemoryReport& memory, const spec::RunSpec& run) {
    Json stages = Json::array();
    for (const auto& stage : memory.stages) {
        auto json = process_json(stage.process, plan::host_bytes_in_tiers(run, stage.table.total));
        json["stage"] = stage.stage;
        json["rank"] = stage.rank;
        stages.push_back(std::move(json));
    }
    return {{"stages", stages}, {"node_B", memory.footprint.processes}};
}

/// Returns the program of a rank in short; null if it is long and was not requested.
Json program_json(const PlanAnswer& answer, const plan::Watch& watch) {
    const auto& run = answer.loaded->run;
    if (!answer.rank && is_long_program(run)) {
        return nullptr;
    }
    const int rank = answer.rank.value_or(0);
    const auto built = plan::build_whole(run, rank);
    const auto program = schedule::build_program(run, rank, schedule::Variant::train);
    if (watch) {
        watch(program.ops.size());
    }
    return {{"rank", rank},
            {"ops", program.ops.size()},
            {"bytes", by_tier(built.bytes)},
            {"libraries_B", built.libraries},
            {"process", process_json(built.process, plan::host_bytes_in_tiers(run, built.bytes))},
            {"collectives", collectives_json(program)},
            {"transfers", transfers_json(program)}};
}

Json bandwidths_json(const plan::MemoryReport& memory) {
    Json list = Json::array();
    for (const auto& row : memory.bandwidths) {
        list.push_back({{"kind", row.kind},
                        {"home", spec::write_home(row.home)},
                        {"flops_per_byte", row.flops_per_byte},
                        {"half_B_per_s", known(row.for_half)},
                        {"most_B_per_s", known(row.for_most)},
                        {"machine_B_per_s", known(row.has)},
                        {"efficiency", known(row.efficiency)}});
    }
    return list;
}

Json working_memory_json(const plan::MemoryReport& memory) {
    if (memory.bandwidths.empty()) {
        return nullptr;
    }
    const auto& working = memory.working_memory;
    return {{"model_state_B", working.model_state},
            {"product_in", working.largest_in},
            {"product_out", working.largest_out},
            {"activations_B", working.activations}};
}

/// Returns the wear of each path of the NVMe tier; null if a step writes no bytes to disks.
Json wear_json(const plan::MemoryReport& memory, const spec::RunSpec& run) {
    const auto& wear = memory.wear;
    if (wear.bytes_per_step <= 0) {
        return nullptr;
    }
    return {{"paths", std::max<std::size_t>(run.tiers.nvme_paths.size(), 1)},
            {"path_B_per_step", wear.bytes_per_step},
            {"path_B_per_day", known(wear.max_bytes_per_day())},
            {"min_step_s", known(wear.min_step_seconds)},
            {"endurance_steps", known(static_cast<double>(run.tiers.endurance_bytes) / wear.bytes_per_step)}};
}

/// Returns the fields of `plan --time --json` and the critical path in words; null without rates.
Json planned_time_json(const deck::LoadedDeck& loaded) {
    const auto& run = loaded.run;
    const auto& machine = loaded.machine;
    if (!plan::missing_rates(run, machine).empty()) {
        return nullptr;
    }
    const auto time = plan::planned_time(run, machine);
    auto json = Json::parse(plan::time_as_json(time, run, machine, loaded.has_kept_peak));
    json["train_s"] = time.step_seconds * static_cast<double>(run.train.steps);
    json["bound_by"] = plan::bound_words(time);
    return json;
}

}  // namespace

std::string plan_as_json(const PlanAnswer& answer, const plan::Watch& watch) {
    const auto& found = answer.found;
    Json json{{"schema", "ziggurat.plan/1"},     {"deck", answer.deck},
              {"exit_code", answer.exit_code},   {"errors", found.errors()},
              {"warnings", found.warnings()},    {"notes", found.notes()},
              {"problems", problems_json(found)}};
    if (answer.loaded != nullptr && answer.memory != nullptr) {
        const auto& run = answer.loaded->run;
        const auto& machine = answer.loaded->machine;
        const auto& memory = *answer.memory;
        json["run"] = {{"name", run.run.name}, {"dir", run.run.dir}};
        json["machine"] = machine.name;
        json["model"] = model_json(run);
        json["objective"] = objective_json(run.train.objective);
        json["batch"] = batch_json(run, answer.epochs);
        json["layout"] = layout_json(run);
        json["depths"] = text_or_null(answer.loaded->depths);
        json["memory"] = memory_json(memory);
        json["processes"] = processes_json(memory, run);
        json["bandwidths"] = bandwidths_json(memory);
        json["working_memory"] = working_memory_json(memory);
        json["wear"] = wear_json(memory, run);
        json["program"] = program_json(answer, watch);
        json["checkpoint"] = checkpoint_json(run);
        json["time"] = planned_time_json(*answer.loaded);
        json["missing_rates"] = text_or_null(plan::missing_rates(run, machine));
        const auto seconds =
            json["time"].is_null() ? std::nullopt : std::optional<double>{json["time"]["step_s"]};
        json["goodput"] = goodput_json(plan::run_goodput(run, machine, seconds));
    }
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace ziggurat::app
