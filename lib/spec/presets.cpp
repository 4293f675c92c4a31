#include "spec/presets.hpp"

#include <algorithm>
#include <array>

namespace ziggurat::spec {
namespace {

struct Preset {
    std::string_view name;
    Model model;
};

constexpr Model gpt2(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
    Model model;
    model.family = Family::gpt2;
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = heads;
    model.ffn_hidden = 4 * hidden;
    model.vocab = 50257;
    model.max_seq = 1024;
    model.tie_embeddings = true;
    return model;
}

constexpr Model llama3(std::int64_t layers,
                       std::int64_t hidden,
                       std::int64_t heads,
                       std::int64_t ffn_hidden) {
    Model model;
    model.family = Family::llama;
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = 8;
    model.ffn_hidden = ffn_hidden;
    model.vocab = 128256;
    model.max_seq = 8192;
    model.tie_embeddings = false;
    model.rope_theta = 500000;
    return model;
}

constexpr Model llama32_1b() {
    Model model = llama3(16, 2048, 32, 8192);
    model.tie_embeddings = true;
    return model;
}

const std::array presets = {
    Preset{"gpt2-124m", gpt2(12, 768, 12)},
    Preset{"gpt2-350m", gpt2(24, 1024, 16)},
    Preset{"gpt2-774m", gpt2(36, 1280, 20)},
    Preset{"gpt2-1558m", gpt2(48, 1600, 25)},
    Preset{"llama-1b", llama32_1b()},
    Preset{"llama-8b", llama3(32, 4096, 32, 14336)},
    Preset{"llama-70b", llama3(80, 8192, 64, 28672)},
};

}  // namespace

const Model* find_preset(std::string_view name) {
    const auto found = std::find_if(presets.begin(), presets.end(),
                                    [&](const Preset& preset) { return preset.name == name; });
    return found == presets.end() ? nullptr : &found->model;
}

}  // namespace ziggurat::spec
