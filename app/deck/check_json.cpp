#include "app/deck/check_json.hpp"

#include <nlohmann/json.hpp>

#include "app/deck/deck_json.hpp"

namespace ziggurat::app {
namespace {

Json packing_json(const PackedSources& packed) {
    Json json = Json::array();
    for (const auto& [source, of] : packed) {
        json.push_back({{"source", source},
                        {"pairs", of.has_pairs},
                        {"samples", of.samples},
                        {"cut", of.cut},
                        {"dropped", of.dropped},
                        {"without_target", of.without_target},
                        {"without_flag", of.without_flag},
                        {"sequences", of.trained},
                        {"held_out", of.held_out},
                        {"fill", of.fill}});
    }
    return json;
}

Json targets_json(const SourceTargets& targets) {
    Json json = Json::array();
    for (const auto& [source, of] : targets) {
        json.push_back({{"source", source}, {"counted", of.trained}, {"held_out", of.held_out}});
    }
    return json;
}

Json attention_json(const AttentionForecast& forecast) {
    Json json{{"kernel", layout::to_string(forecast.kernel)},
              {"reason", forecast.reason.empty() ? Json(nullptr) : Json(forecast.reason)},
              {"compute_capability", forecast.capability / 10.0},
              {"is_capability_assumed", forecast.is_capability_assumed}};
    if (forecast.windowed_layers > 0) {
        const auto& reason = forecast.windowed_reason;
        json["windowed"] = {{"layers", forecast.windowed_layers},
                            {"kernel", layout::to_string(forecast.windowed_kernel)},
                            {"reason", reason.empty() ? Json(nullptr) : Json(reason)}};
    }
    return json;
}

Json nccl_json(const std::vector<plan::CommunicatorBlocks>& communicators, const spec::MachineSpec& machine) {
    if (communicators.empty()) {
        return nullptr;
    }
    Json list = Json::array();
    for (const auto& of : communicators) {
        list.push_back({{"name", of.name}, {"blocks", of.blocks}});
    }
    return {{"blocks", plan::blocks_of_all(communicators)},
            {"multiprocessors", plan::multiprocessors_of(machine)},
            {"communicators", list}};
}

}  // namespace

std::string check_as_json(const CheckAnswer& answer) {
    const auto& found = answer.found;
    Json json{{"schema", "ziggurat.check/1"},    {"deck", answer.deck},
              {"exit_code", answer.exit_code},   {"errors", found.errors()},
              {"warnings", found.warnings()},    {"notes", found.notes()},
              {"problems", problems_json(found)}};
    if (answer.loaded != nullptr) {
        const auto& run = answer.loaded->run;
        json["run"] = {{"name", run.run.name}, {"dir", run.run.dir}};
        json["machine"] = answer.loaded->machine.name;
        json["model"] = model_json(run);
        json["objective"] = objective_json(run.train.objective);
        json["batch"] = batch_json(run, answer.epochs);
        json["packing"] = packing_json(answer.packed);
        json["targets"] = targets_json(answer.targets);
        json["layout"] = layout_json(run);
        json["memory"] = answer.memory ? memory_json(*answer.memory) : Json(nullptr);
        json["checkpoint"] = checkpoint_json(run);
        json["start"] = answer.start.empty() ? Json(nullptr) : Json(answer.start);
        json["attention"] = answer.attention ? attention_json(*answer.attention) : Json(nullptr);
        json["nccl"] = nccl_json(answer.communicators, answer.loaded->machine);
        json["time"] = time_json(run, answer.step_seconds, answer.loaded->has_kept_peak);
        json["goodput"] = goodput_json(answer.goodput);
        json["longest_sequence"] = answer.longest ? Json(answer.longest->tokens) : Json(nullptr);
    }
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace ziggurat::app
