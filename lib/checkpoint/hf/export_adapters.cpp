#include "checkpoint/hf/export_adapters.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "checkpoint/convert.hpp"
#include "checkpoint/hf/file_types.hpp"
#include "checkpoint/hf/hf_layout.hpp"
#include "checkpoint/hf/merged_weights.hpp"
#include "checkpoint/hf/model_files.hpp"
#include "checkpoint/hf/safetensors_writer.hpp"
#include "layout/families/adapters.hpp"
#include "storage/directory.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using nlohmann::ordered_json;

/// Prefix that PEFT adds to the names of the model's own modules.
constexpr const char* prefix = "base_model.model.";

/// Returns `model.layers.0.self_attn.q_proj` for `model.layers.0.self_attn.q_proj.weight`.
std::string module_of(const HfLayout& layout) {
    constexpr std::string_view weight = ".weight";
    ZG_EXPECTS(layout.name.ends_with(weight));
    return layout.name.substr(0, layout.name.size() - weight.size());
}

/// Returns the module name without its layer: `self_attn.q_proj`.
std::string kind_of(const std::string& module) {
    const auto digit = module.find_first_of("0123456789");
    return module.substr(module.find('.', digit) + 1);
}

/// Returns the parts of a published tensor that have adapters.
std::vector<HfPart> adapted_parts(const HfLayout& layout, const spec::Model& model) {
    std::vector<HfPart> parts;
    std::ranges::copy_if(layout.parts, std::back_inserter(parts),
                         [&](const HfPart& part) { return layout::has_adapter(model, part.tensor); });
    return parts;
}

/// One module of the model and its adapter.
struct Module {
    HfLayout layout;
    std::vector<HfPart> parts;

    std::int64_t rank(const spec::Model& model) const { return model.lora.rank * std::ssize(parts); }
};

/// Returns the adapted modules in the order of names.
std::vector<Module> modules_of(const spec::Model& model) {
    std::vector<Module> modules;
    for (const auto& layout : hf_layouts(model)) {
        if (auto parts = adapted_parts(layout, model); !parts.empty()) {
            modules.push_back({layout, std::move(parts)});
        }
    }
    std::ranges::sort(modules, {}, [](const Module& module) { return module.layout.name; });
    return modules;
}

/// Returns the ranks by the target names of PEFT. All layers have the same targets.
std::map<std::string, std::int64_t> ranks_by_target(const std::vector<Module>& modules,
                                                    const spec::Model& model) {
    std::map<std::string, std::int64_t> ranks;
    for (const auto& module : modules) {
        ranks[kind_of(module_of(module.layout))] = module.rank(model);
    }
    return ranks;
}

std::string adapter_config_text(const std::vector<Module>& modules,
                                const spec::Model& model,
                                const std::string& base) {
    const auto targets = ranks_by_target(modules, model);
    ordered_json ranks = ordered_json::object(), alphas = ordered_json::object();
    std::vector<std::string> names;
    for (const auto& [name, rank] : targets) {
        names.push_back(name);
        if (rank != model.lora.rank) {
            ranks[name] = rank;
            alphas[name] = model.lora.factor() * static_cast<double>(rank);
        }
    }
    const bool is_transposed =
        std::ranges::any_of(modules, [](const Module& module) { return module.layout.is_transposed; });
    const ordered_json config{
        {"peft_type", "LORA"},
        {"task_type", "CAUSAL_LM"},
        {"base_model_name_or_path", base.empty() ? ordered_json(nullptr) : ordered_json(base)},
        {"r", model.lora.rank},
        {"lora_alpha", model.lora.alpha},
        {"lora_dropout", 0.0},
        {"target_modules", names},
        {"rank_pattern", ranks},
        {"alpha_pattern", alphas},
        {"fan_in_fan_out", is_transposed},
        {"bias", "none"},
        {"inference_mode", true}};
    return config.dump(2) + "\n";
}

/// Converts the values of a file's tensor to its stored type.
std::vector<std::byte> in_type(const std::vector<float>& values, spec::DType type) {
    std::vector<std::byte> bytes(values.size() * spec::element_bytes(type));
    convert(reinterpret_cast<const std::byte*>(values.data()), spec::DType::f32, bytes.data(), type,
            std::ssize(values));
    return bytes;
}

/// Reads both factors of a module: A [rank, in] and B [out, rank].
StoredAdapter factors_of(CheckpointReader& reader, const Module& module, const spec::Model& model) {
    const auto own = model.lora.rank;
    const auto rank = module.rank(model);
    StoredAdapter all;
    all.b.resize(module.layout.rows * rank);
    for (std::size_t k = 0; k < module.parts.size(); ++k) {
        const auto& part = module.parts[k];
        const auto one = read_adapter(reader, part.tensor, part.shape, own);
        all.a.insert(all.a.end(), one.a.begin(), one.a.end());
        for (std::int64_t row = 0; row < part.shape.front(); ++row) {
            const auto there =
                part.first_row + row / part.group_rows * part.group_stride + row % part.group_rows;
            std::copy_n(one.b.data() + row * own, own,
                        all.b.data() + there * rank + static_cast<std::int64_t>(k) * own);
        }
    }
    return all;
}

}  // namespace

ExportedModel export_adapters(CheckpointReader& reader,
                              const spec::Model& model,
                              const std::string& folder,
                              spec::DType type,
                              const std::string& base) {
    ZG_EXPECTS(model.lora.is_on());
    make_empty_folder(folder);
    const auto modules = modules_of(model);
    std::vector<FileTensor> tensors;
    for (const auto& module : modules) {
        const auto name = prefix + module_of(module.layout);
        const auto rank = module.rank(model);
        tensors.push_back({name + ".lora_A.weight", name_of(type), {rank, module.layout.columns}});
        tensors.push_back({name + ".lora_B.weight", name_of(type), {module.layout.rows, rank}});
    }
    ExportedModel made{.bytes = 0, .tensors = std::ssize(tensors), .files = 1};
    SafetensorsWriter writer{folder + "/" + adapter_file_name, std::move(tensors)};
    for (const auto& module : modules) {
        const auto factors = factors_of(reader, module, model);
        for (const auto* values : {&factors.a, &factors.b}) {
            const auto bytes = in_type(*values, type);
            writer.append(bytes);
            made.bytes += std::ssize(bytes);
        }
    }
    writer.finish();
    write_text(folder + "/" + adapter_config_name, adapter_config_text(modules, model, base));
    storage::flush_directory(folder);
    return made;
}

}  // namespace ziggurat::checkpoint::hf
