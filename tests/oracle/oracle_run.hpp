/// Runs that train the models of the oracles on their batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "spec/run_spec.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/tensor_file.hpp"
#include "train/step/batch_slots.hpp"

namespace ziggurat::test {

struct OracleCase {
    const char* name;
    spec::DType compute;
    std::int64_t micro_batch;  ///< sequences; at most those of one rank
    spec::RecomputeKind recompute;
};

inline std::string title(const OracleCase& c) {
    return std::string{c.name} + (c.compute == spec::DType::f32 ? "_f32" : "_bf16") + "_micro" +
           std::to_string(c.micro_batch) + (c.recompute == spec::RecomputeKind::none ? "" : "_recompute");
}

/// Prints a test's parameter for GoogleTest.
inline void PrintTo(const OracleCase& c, std::ostream* out) {
    *out << title(c);
}

/// Returns the path of a file of tests/oracle.
inline std::string path_of(const std::string& file) {
    const char* root = std::getenv("PROJECT_SOURCE_DIR");
    return std::string{root == nullptr ? "." : root} + "/tests/oracle/" + file;
}

/// Returns the run of an oracle on data ranks.
inline spec::RunSpec spec_of(const nlohmann::json& config,
                             const OracleCase& c,
                             int ranks,
                             std::int64_t steps) {
    spec::RunSpec run;
    const auto& model = config.at("model");
    run.model.family = model.at("family");
    run.model.layers = model.at("layers");
    run.model.hidden = model.at("hidden");
    run.model.heads = model.at("heads");
    run.model.kv_heads = model.at("kv_heads");
    run.model.head_dim = model.value("head_dim", run.model.hidden / run.model.heads);
    run.model.ffn_hidden = model.at("ffn_hidden");
    run.model.vocab = model.at("vocab");
    run.model.vocab_padded = 128;
    run.model.max_seq = model.at("max_seq");
    run.model.tie_embeddings = model.at("tie_embeddings");
    run.model.norm_epsilon = model.at("norm_epsilon");
    run.model.rope_theta = model.value("rope_theta", 10000.0);
    run.model.rotary_fraction = model.value("rotary_fraction", 1.0);
    run.model.no_rope_interval = model.value("no_rope_interval", std::int64_t{0});
    run.model.window = model.value("window", std::int64_t{0});
    run.model.full_attention_interval = model.value("full_attention_interval", std::int64_t{0});
    run.model.window_rope_theta = model.value("window_rope_theta", 0.0);
    run.model.attention_scale = model.value("attention_scale", 0.0);
    if (const auto factors = model.find("multiplier"); factors != model.end()) {
        run.model.multiplier = {factors->at("embedding"), factors->at("residual"), factors->at("logits")};
    }
    if (const auto caps = model.find("softcap"); caps != model.end()) {
        run.model.softcap = {caps->at("attention"), caps->at("logits")};
    }
    if (const auto bias = model.find("bias"); bias != model.end()) {
        run.model.bias = {bias->at("qkv"), bias->at("output"), bias->at("mlp")};
    }
    run.data.seq = config.at("data").at("seq");
    run.data.reset_at_document = true;
    run.train.steps = steps;
    run.train.global_batch = 3;
    run.train.micro_batch = std::min<std::int64_t>(c.micro_batch, run.train.global_batch / ranks);
    run.train.micro_batches = run.train.global_batch / run.train.micro_batch / ranks;
    run.parallel.ranks = run.parallel.ranks_per_node = run.parallel.data = run.sharding.sum_group = ranks;
    run.parallel.threads = 1;
    run.recompute.kind = c.recompute;
    run.precision.compute = c.compute;
    const auto& optimizer = config.at("optimizer");
    run.optimizer.lr = optimizer.at("lr");
    run.optimizer.beta1 = optimizer.at("betas").at(0);
    run.optimizer.beta2 = optimizer.at("betas").at(1);
    run.optimizer.epsilon = optimizer.at("eps");
    run.optimizer.weight_decay = optimizer.at("weight_decay");
    run.optimizer.clip_norm = optimizer.at("clip_norm");
    run.schedule.kind = spec::ScheduleKind::constant;
    run.tiers.device = device_kind_for_tests();
    return run;
}

/// Fills `slot` with consecutive rows of the oracle's batch, from `first_sample` on.
inline void fill(const train::BatchSlot& slot,
                 const TensorFile& oracle,
                 std::int64_t first_sample,
                 std::int64_t seq) {
    const auto copy = [&](const char* name, auto into) {
        const auto& rows = oracle.at(std::string{"batch/"} + name).integers;
        using Element = typename decltype(into)::element_type;
        std::transform(rows.begin() + first_sample * seq,
                       rows.begin() + first_sample * seq + std::ssize(into), into.begin(),
                       [](std::int32_t value) { return static_cast<Element>(value); });
    };
    copy("tokens", slot.tokens);
    copy("targets", slot.targets);
    copy("positions", slot.positions);
    copy("document_starts", slot.document_starts);
    copy("loss_mask", slot.mask);
    for (std::size_t i = 0; i < slot.samples.size(); ++i) {
        slot.samples[i] = first_sample + std::int64_t(i);
    }
}

}  // namespace ziggurat::test
