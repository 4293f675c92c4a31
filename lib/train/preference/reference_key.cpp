#include "train/preference/reference_key.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "checkpoint/catalogue/catalogue.hpp"
#include "checkpoint/manifest.hpp"
#include "data/content_key.hpp"
#include "layout/families/role.hpp"
#include "train/step/weights_hash.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

/// Version of the code that computes scores.
///
/// Raise it when the same weights and pairs give other scores.
constexpr int rule_version = 2;

/// Adds the values of a model with which its weights are used.
///
/// Each structure is taken apart into all its members, so that a new member does not compile before it is
/// added or left out here.
void add_model(const spec::Model& model, data::ContentKey& key) {
    const auto& [family, layers, hidden, heads, kv_heads, head_dim, ffn_hidden, vocab, vocab_padded, max_seq,
                 tie_embeddings, norm_epsilon, rope_theta, rotary_fraction, dropout, embedding_gradient,
                 init_std, init_path, is_init_published, rope_scaling, bias, attention_scale, multiplier,
                 softcap, window, full_attention_interval, window_rope_theta, no_rope_interval, lora] = model;
    key.add("family", family).add("layers", layers).add("hidden", hidden).add("heads", heads);
    key.add("kv_heads", kv_heads).add("head_dim", head_dim).add("ffn_hidden", ffn_hidden);
    key.add("vocab", vocab).add("max_seq", max_seq).add("tie_embeddings", tie_embeddings);
    key.add("norm_epsilon", norm_epsilon).add("rope_theta", rope_theta);
    key.add("rotary_fraction", rotary_fraction).add("window", window);
    key.add("attention_scale", attention_scale != 0 ? attention_scale : model.usual_attention_scale());
    key.add("full_attention_interval", full_attention_interval);
    key.add("window_rope_theta", window_rope_theta).add("no_rope_interval", no_rope_interval);
    // Padding rows depend on the layout. Scores have no dropout. The others only choose initial weights, or
    // change gradients.
    static_cast<void>(vocab_padded);
    static_cast<void>(dropout);
    static_cast<void>(embedding_gradient);
    static_cast<void>(init_std);
    static_cast<void>(init_path);
    static_cast<void>(is_init_published);

    const auto& [kind, factor, low, high, original, fast, slow, truncate, attention, shorts, longs] =
        rope_scaling;
    key.add("rope_scaling", kind).add("factor", factor).add("low", low).add("high", high);
    key.add("original", original).add("fast", fast).add("slow", slow).add("truncate", truncate);
    key.add("attention_factor", attention);
    for (const auto* factors : {&shorts, &longs}) {
        key.add("factors", std::ssize(*factors));
        for (const auto divisor : *factors) {
            key.add("divisor", divisor);
        }
    }
    const auto& [bias_qkv, bias_output, bias_mlp] = bias;
    key.add("bias_qkv", bias_qkv).add("bias_output", bias_output).add("bias_mlp", bias_mlp);
    const auto& [of_embedding, of_residual, of_logits] = multiplier;
    key.add("embedding", of_embedding).add("residual", of_residual).add("logits", of_logits);
    const auto& [cap_attention, cap_logits] = softcap;
    key.add("cap_attention", cap_attention).add("cap_logits", cap_logits);
    const auto& [rank, alpha, targets] = lora;
    key.add("rank", rank).add("alpha", alpha);
    for (const auto& target : targets) {
        key.add("target", target);
    }
}

std::uint64_t hash_of(const data::MappedFile& file) {
    return XXH3_64bits(file.content().data(), file.content().size());
}

/// Adds a file of weights: its size and hash, and its time of change if the hash does not cover it.
void add_file(const fs::path& path, std::size_t num_files, data::ContentKey& key) {
    const data::MappedFile file{path.string(), "reference"};
    const auto bytes = data::bytes_to_hash(num_files);
    key.add("name", path.filename().string()).add("bytes", file.bytes());
    key.add("hash", fmt::format("{:016x}", data::sampled_hash(file.content(), bytes)));
    if (file.bytes() > bytes) {
        key.add("modified", file.stamp().modified_ns);
    }
}

std::uint64_t published_key(const std::string& folder) {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator{folder}) {
        const auto name = entry.path().filename().string();
        if (name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json")) {
            paths.push_back(entry.path());
        }
    }
    std::ranges::sort(paths);
    data::ContentKey key{"published weights", rule_version};
    for (const auto& path : paths) {
        add_file(path, paths.size(), key);
    }
    return paths.empty() ? 0 : key.hash();
}

std::uint64_t checkpoint_key(const std::string& path) {
    std::vector<std::string> ignored;
    const auto manifest = checkpoint::read_manifest_text(checkpoint::choose(path, ignored));
    return manifest ? checkpoint::hash_of_manifest(*manifest) : 0;
}

}  // namespace

std::uint64_t inputs_key(const spec::RunSpec& spec, std::span<const std::uint64_t> pair_hashes) {
    data::ContentKey key{"reference scores", rule_version};
    for (const auto hash : pair_hashes) {
        key.add("pairs", fmt::format("{:016x}", hash));
    }
    key.add("seq", spec.data.seq).add("long_samples", spec.data.long_samples);
    key.add("packing", spec.data.packing).add("reset_at_document", spec.data.reset_at_document);
    key.add("compute", spec.precision.compute);
    key.add("adapters_off", spec.train.objective.reference == spec::ReferenceKind::adapters_off);
    add_model(spec.model, key);
    return key.hash();
}

std::vector<std::uint64_t> file_hashes(std::span<const data::NamedFile> files,
                                       std::span<const data::FileFingerprint> fingerprints) {
    ZG_EXPECTS(files.size() == fingerprints.size());
    std::vector<std::uint64_t> hashes;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto& known = fingerprints[i];
        hashes.push_back(known.hashed_bytes == known.bytes ? known.hash : hash_of(*files[i].source.file));
    }
    return hashes;
}

std::uint64_t reference_weights_hash(const spec::RunSpec& spec, const Assembly& assembly) {
    const bool has_adapters = spec.train.objective.reference != spec::ReferenceKind::adapters_off;
    const auto state = assembly.state();
    return weights_hash(assembly.world(), state.model, state.program, state.memory,
                        layout::PieceKind::weights, [&](const layout::Parameter& parameter) {
                            return has_adapters || (parameter.role != layout::Role::lora_a &&
                                                    parameter.role != layout::Role::lora_b);
                        });
}

std::uint64_t source_key(const std::string& path, bool is_published) {
    if (path.empty()) {
        return 0;
    }
    try {
        return is_published ? published_key(path) : checkpoint_key(path);
    } catch (const Error&) {
        return 0;  // loading the weights reports the error
    } catch (const fs::filesystem_error&) {
        return 0;
    }
}

}  // namespace ziggurat::train
