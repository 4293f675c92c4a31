#include "app/deck/deck_json.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "deck/values/quantities.hpp"
#include "layout/counts.hpp"
#include "plan/checkpoint_size.hpp"
#include "spec/home_text.hpp"
#include "spec/objective_text.hpp"

namespace ziggurat::app {
namespace {

std::int64_t tokens_of_step(const spec::RunSpec& run) {
    return run.train.global_batch * run.data.seq;
}

Json consumers_json(const plan::MemoryTable& table) {
    Json consumers = Json::array();
    for (const auto& row : table.rows) {
        Json line{{"consumer", to_string(row.consumer)}, {"detail", row.detail}};
        line.update(by_tier(row.bytes));
        consumers.push_back(line);
    }
    Json between{{"consumer", "between"}, {"detail", "alignment and holes"}};
    between.update(by_tier(table.between));
    consumers.push_back(between);
    return consumers;
}

Json shortfall_json(const plan::Footprint& footprint) {
    return by_tier({footprint.shortfall(spec::Tier::device), footprint.shortfall(spec::Tier::host),
                    footprint.shortfall(spec::Tier::nvme)});
}

/// Returns the labels of the ops at the peaks; null for tiers without transient buffers.
Json peak_ops_json(const plan::MemoryTable& table) {
    Json json;
    for (std::size_t t = 0; t < table.peak_op.size(); ++t) {
        json[spec::tier_names[t]] = table.peak_op[t].empty() ? Json(nullptr) : Json(table.peak_op[t]);
    }
    return json;
}

}  // namespace

Json by_tier(const spec::ByTier<std::int64_t>& bytes, std::int64_t none) {
    constexpr std::array names{"device_B", "host_B", "nvme_B"};
    Json json;
    for (std::size_t t = 0; t < names.size(); ++t) {
        json[names[t]] = bytes[t] == none ? Json(nullptr) : Json(bytes[t]);
    }
    return json;
}

Json problems_json(const deck::Diagnostics& found) {
    Json list = Json::array();
    for (const auto& problem : found.sorted()) {
        const bool has_line = problem.at.line > 0;
        list.push_back({{"severity", name_of(problem.severity)},
                        {"file", problem.has_slot() ? Json(problem.at.file) : Json(nullptr)},
                        {"line", has_line ? Json(problem.at.line) : Json(nullptr)},
                        {"column", has_line ? Json(problem.at.column) : Json(nullptr)},
                        {"text", problem.sentence()}});
    }
    return list;
}

Json model_json(const spec::RunSpec& run) {
    const auto& model = run.model;
    return {{"family", model.family},
            {"layers", model.layers},
            {"hidden", model.hidden},
            {"heads", model.heads},
            {"kv_heads", model.kv_heads},
            {"head_dim", model.head_dim},
            {"ffn_hidden", model.ffn_hidden},
            {"vocab", model.vocab},
            {"tied_embeddings", model.tie_embeddings},
            {"parameters", layout::count_parameters(model).total},
            {"trained_parameters", layout::count_trained(run)},
            {"flops_per_token", layout::flops_per_token(run)},
            {"flops_formula", layout::flops_formula(run)}};
}

Json objective_json(const spec::Objective& objective) {
    if (!objective.has_pairs()) {
        return nullptr;
    }
    return {{"kind", spec::word_of(objective.kind)},
            {"beta", objective.beta},
            {"label_smoothing", objective.label_smoothing},
            {"reference", spec::reference_word(objective)}};
}

Json batch_json(const spec::RunSpec& run, const Epochs& epochs) {
    Json by_source = Json::array();
    for (const auto& of_source : epochs) {
        by_source.push_back(of_source ? Json(*of_source) : Json(nullptr));
    }
    return {{"steps", run.train.steps},
            {"sequences", run.train.global_batch},
            {"sequence_tokens", run.data.seq},
            {"micro_batch", run.train.micro_batch},
            {"micro_batches", run.train.micro_batches},
            {"tokens_per_step", tokens_of_step(run)},
            {"tokens", tokens_of_step(run) * run.train.steps},
            {"epochs", by_source}};
}

Json layout_json(const spec::RunSpec& run) {
    const auto& parallel = run.parallel;
    const auto& tiers = run.tiers;
    return {{"ranks", parallel.ranks},
            {"ranks_per_node", parallel.ranks_per_node},
            {"threads", parallel.threads},
            {"tensor", parallel.tensor_degree()},
            {"context", parallel.context},
            {"data", parallel.data_degree()},
            {"pipeline", parallel.stages},
            {"spans",
             {{"parameters", run.sharding.parameters},
              {"gradients", run.sharding.gradients},
              {"optimizer", run.sharding.optimizer},
              {"secondary", run.sharding.secondary > 0 ? Json(run.sharding.secondary) : Json(nullptr)}}},
            {"homes",
             {{"parameters", spec::write_home(tiers.parameters)},
              {"gradients", spec::write_home(tiers.gradients)},
              {"optimizer", spec::write_home(tiers.optimizer)},
              {"activations", spec::write_home(tiers.activations)}}}};
}

Json memory_json(const plan::MemoryReport& memory) {
    const auto& footprint = memory.footprint;
    Json stages = Json::array();
    for (const auto& stage : memory.stages) {
        stages.push_back({{"stage", stage.stage},
                          {"last", stage.last},
                          {"rank", stage.rank},
                          {"consumers", consumers_json(stage.table)},
                          {"rank_total", by_tier(stage.table.total)},
                          {"rank_budget", by_tier(stage.table.budget, 0)},
                          {"libraries_B", stage.table.libraries},
                          {"pinned_B", stage.table.pinned},
                          {"peak_op", peak_ops_json(stage.table)}});
    }
    Json remedies = Json::array();
    for (const auto& remedy : memory.found.remedies) {
        remedies.push_back({{"overrides", remedy.overrides},
                            {"fits", remedy.fits},
                            {"needed", by_tier(remedy.footprint.needed)},
                            {"shortfall", shortfall_json(remedy.footprint)}});
    }
    const bool knows_memory = footprint.memory > 0;
    return {{"fits", memory.fits},
            {"rank", memory.fullest().rank},
            {"consumers", consumers_json(memory.fullest().table)},
            {"rank_total", by_tier(memory.fullest().table.total)},
            {"stages", stages},
            {"needed", by_tier(footprint.needed)},
            {"shortfall", shortfall_json(footprint)},
            {"limit", by_tier({footprint.limit(spec::Tier::device), footprint.limit(spec::Tier::host),
                               footprint.limit(spec::Tier::nvme)})},
            {"node_memory_needed_B", knows_memory ? Json(footprint.memory_needed) : Json(nullptr)},
            {"verdict", memory.verdict},
            {"accuracy", memory.accuracy_note.empty() ? Json(nullptr) : Json(memory.accuracy_note)},
            {"node_memory_B", knows_memory ? Json(footprint.memory) : Json(nullptr)},
            {"is_search_finished", memory.found.is_finished},
            {"remedies", remedies}};
}

Json checkpoint_json(const spec::RunSpec& run) {
    if (!run.checkpoint.every) {
        return nullptr;
    }
    const auto size = plan::checkpoint_size(run);
    return {{"every", deck::write_interval(*run.checkpoint.every)},
            {"bytes", size.bytes},
            {"kept", size.kept},
            {"bytes_kept", size.bytes_kept},
            {"bytes_at_most", size.bytes_at_most}};
}

Json time_json(const spec::RunSpec& run, std::optional<double> seconds, bool is_lower_bound) {
    if (!seconds) {
        return nullptr;
    }
    return {{"step_s", *seconds},
            {"is_lower_bound", is_lower_bound},
            {"tokens_per_s", static_cast<double>(tokens_of_step(run)) / *seconds},
            {"train_s", *seconds * static_cast<double>(run.train.steps)}};
}

Json goodput_json(const std::optional<plan::RunGoodput>& goodput) {
    if (!goodput) {
        return nullptr;
    }
    const auto known = [](const std::optional<double>& value) {
        return value ? Json(*value) : Json(nullptr);
    };
    return {{"nodes", goodput->nodes},
            {"failure_s", goodput->times.between_failures},
            {"restart_s", goodput->times.restart},
            {"save_blocked_s", goodput->times.blocked},
            {"save_background_s", goodput->times.written_in_background},
            {"productive", goodput->share},
            {"best_productive", goodput->best_share},
            {"interval_s", goodput->interval},
            {"best_interval_s", goodput->best_interval},
            {"best_every", deck::write_interval(goodput->best)},
            {"extra_time", goodput->extra_time},
            {"tokens_per_day", known(goodput->tokens_per_day)},
            {"price", known(goodput->price)}};
}

}  // namespace ziggurat::app
