#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/checkpoint/inspect_text.hpp"

namespace ziggurat::app {
namespace {

using Json = nlohmann::ordered_json;
using checkpoint::EntryState;
using checkpoint::TensorVerdict;

/// Returns JSON in ASCII: text of unknown origin stays valid and cannot control a terminal.
std::string written(const Json& json) {
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

const char* name_of(spec::DType type) {
    return type == spec::DType::f32 ? "f32" : "bf16";
}

const char* name_of(EntryState state) {
    return state == EntryState::complete     ? "complete"
           : state == EntryState::unfinished ? "unfinished"
                                             : "damaged";
}

const char* name_of(TensorVerdict verdict) {
    switch (verdict) {
        case TensorVerdict::same:
            return "same";
        case TensorVerdict::other_numbers:
            return "other_numbers";
        case TensorVerdict::other_type:
            return "other_type";
        case TensorVerdict::other_shape:
            return "other_shape";
        case TensorVerdict::only_in_first:
            return "only_in_first";
        case TensorVerdict::only_in_second:
            return "only_in_second";
    }
    return "";
}

const char* name_of(checkpoint::DeckChangeClass change_class) {
    return change_class == checkpoint::DeckChangeClass::refused  ? "refused"
           : change_class == checkpoint::DeckChangeClass::warned ? "warned"
                                                                 : "noted";
}

/// Returns null for a number that is not finite, because JSON cannot represent it.
Json number(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json progress_of(const checkpoint::TrainingProgress& progress) {
    return {{"step", progress.step},
            {"tokens", progress.tokens},
            {"next_sample", progress.next_sample},
            {"skipped", progress.skipped},
            {"seconds", progress.seconds}};
}

Json tensor_of(const checkpoint::StoredTensor& tensor) {
    return {{"kind", to_string(tensor.kind)}, {"name", tensor.name},     {"shape", tensor.shape},
            {"type", name_of(tensor.type)},   {"bytes", tensor.bytes()}, {"pieces", tensor.pieces}};
}

}  // namespace

std::string json_of(const checkpoint::Catalogue& catalogue) {
    Json all = Json::array();
    for (const auto& entry : catalogue.entries) {
        Json one = {{"path", entry.path},
                    {"step", entry.step},
                    {"state", name_of(entry.state)},
                    {"why_not", entry.obstacle.empty() ? Json(nullptr) : Json(entry.obstacle)},
                    {"bytes", entry.bytes},
                    {"written", number(entry.written)}};
        if (entry.manifest) {
            one["progress"] = progress_of(entry.manifest->progress);
            one["ranks"] = entry.manifest->ranks;
            one["layout"] = entry.manifest->layout;
            one["program"] = entry.manifest->program;
        }
        all.push_back(std::move(one));
    }
    return written({{"root", catalogue.root}, {"checkpoints", std::move(all)}});
}

std::string json_of_tensors(const checkpoint::CheckpointReader& reader) {
    const auto& manifest = reader.manifest();
    Json tensors = Json::array();
    for (const auto& tensor : checkpoint::stored_tensors(manifest)) {
        tensors.push_back(tensor_of(tensor));
    }
    Json files = Json::array();
    for (const auto& file : manifest.files) {
        files.push_back({{"name", file.name}, {"bytes", file.bytes}});
    }
    Json data = Json::array();
    for (const auto& file : manifest.data) {
        data.push_back({{"key", file.key},
                        {"path", file.path},
                        {"bytes", file.bytes},
                        {"hashed_bytes", file.hashed_bytes},
                        {"xxh3", fmt::format("{:016x}", file.hash)}});
    }
    return written({{"path", reader.path()},
                    {"progress", progress_of(manifest.progress)},
                    {"ranks", manifest.ranks},
                    {"layout", manifest.layout},
                    {"program", manifest.program},
                    {"data", std::move(data)},
                    {"files", std::move(files)},
                    {"tensors", std::move(tensors)}});
}

std::string json_of(const std::string& path, const std::vector<Numbers>& kinds) {
    Json all = Json::array();
    for (const auto& [tensor, numbers] : kinds) {
        Json one = tensor_of(tensor);
        one["elements"] = numbers.elements;
        one["nonfinite"] = numbers.nonfinite;
        one["zeros"] = numbers.zeros;
        one["min"] = number(numbers.min);
        one["max"] = number(numbers.max);
        one["mean"] = number(numbers.mean);
        one["norm"] = number(numbers.norm);
        one["first"] = Json::array();
        for (const float value : numbers.first) {
            one["first"].push_back(number(static_cast<double>(value)));
        }
        all.push_back(std::move(one));
    }
    return written({{"path", path}, {"tensors", std::move(all)}});
}

std::string json_of(const Verification& verification) {
    Json all = Json::array();
    for (const Verified& checked : verification.checkpoints) {
        Json defects = Json::array();
        for (const auto& damage : checked.defects) {
            defects.push_back({{"file", damage.file}, {"what", damage.what}});
        }
        all.push_back({{"path", checked.path}, {"damages", std::move(defects)}});
    }
    return written({{"checkpoints", std::move(all)},
                    {"notes", verification.notes},
                    {"damages", verification.num_damages()},
                    {"bytes", verification.bytes},
                    {"seconds", verification.seconds}});
}

std::string json_of(const Compared& compared) {
    const auto& comparison = compared.comparison;
    Json tensors = Json::array();
    for (const auto& tensor : comparison.tensors) {
        Json one = {{"kind", to_string(tensor.kind)},
                    {"name", tensor.name},
                    {"verdict", name_of(tensor.verdict)},
                    {"shape", tensor.shape}};
        if (tensor.verdict == TensorVerdict::other_shape) {
            one["other_shape"] = tensor.other_shape;
        } else if (tensor.verdict == TensorVerdict::other_numbers ||
                   tensor.verdict == TensorVerdict::other_type) {
            one["differing"] = tensor.differing;
            one["nonfinite"] = tensor.nonfinite;
            one["largest_absolute"] = number(tensor.largest_absolute);
            one["largest_relative"] = number(tensor.largest_relative);
            one["norm"] = number(tensor.norm);
            one["relative_norm"] = number(tensor.relative_norm);
        }
        tensors.push_back(std::move(one));
    }
    Json deck = Json::array();
    for (const auto& change : comparison.deck) {
        deck.push_back({{"key", change.key},
                        {"first", change.before},
                        {"second", change.after},
                        {"class", name_of(change.change_class)}});
    }
    return written({{"first", compared.first_path},
                    {"second", compared.second_path},
                    {"same", comparison.is_same()},
                    {"same_tensors", comparison.are_tensors_same()},
                    {"first_progress", progress_of(compared.first)},
                    {"second_progress", progress_of(compared.second)},
                    {"tensors", std::move(tensors)},
                    {"deck", std::move(deck)}});
}

}  // namespace ziggurat::app
