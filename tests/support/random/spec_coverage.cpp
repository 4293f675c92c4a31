#include "tests/support/random/spec_coverage.hpp"

#include "layout/counts.hpp"
#include "layout/families/attention_window.hpp"
#include "spec/depths.hpp"
#include "spec/fates.hpp"

namespace ziggurat::test {
namespace {

using spec::DType;

/// Describes the trained part for the report.
std::string trained_part(const spec::RunSpec& spec) {
    const auto trained = layout::count_trained(spec);
    const auto all = layout::count_parameters(spec.model).total;
    return trained == all ? "all" : trained > all / 2 ? "most" : trained > all / 10 ? "some" : "few";
}

const char* name(const spec::Home& home) {
    return home.device == 1 ? "device" : home.host == 1 ? "host" : home.nvme == 1 ? "nvme" : "shares";
}

}  // namespace

void Coverage::note(const spec::RunSpec& s) {
    const auto number = [](auto value) { return std::to_string(value); };
    note("model.family", s.model.family);
    note("model.layers", number(s.model.layers));
    note("model.tie_embeddings", s.model.tie_embeddings ? "true" : "false");
    note("model.multiplier.residual", s.model.multiplier.residual != 1 ? "some" : "none");
    note("model.dropout", s.model.dropout > 0 ? "some" : "none");
    const auto windowed = layout::num_windowed_layers(s);
    note("layers with a window", windowed == 0 ? "none" : windowed < s.model.layers ? "some" : "all");
    note("parallel.tensor", number(s.parallel.tensor));
    note("parallel.tensor.mode", s.parallel.has_cube() ? "3d" : s.parallel.has_grid() ? "2d" : "1d");
    note("parallel.sequence", s.parallel.sequence ? "true" : "false");
    note("parallel.context", number(s.parallel.context));
    note("parallel.data", number(s.parallel.data));
    note("parallel.pipeline.stages", number(s.parallel.stages));
    note("parallel.pipeline.schedule", number(static_cast<int>(s.parallel.pipeline_schedule)));
    note("parallel.pipeline.chunks_per_stage", number(s.parallel.chunks_per_stage));
    const int wide =
        (s.parallel.tensor > 1) + (s.parallel.context > 1) + (s.parallel.data > 1) + (s.parallel.stages > 1);
    note("axes above 1", number(wide));
    note("sharding.parameters", number(s.sharding.parameters));
    note("sharding.gradients", number(s.sharding.gradients));
    note("sharding.optimizer", number(s.sharding.optimizer));
    note("parallel.pipeline.each", !s.stages.empty()                 ? "all"
                                   : s.parallel.stage_layers.empty() ? "auto"
                                                                     : "layers");
    note("sharding.leases", s.sharding.leases == spec::LeaseSpan::step ? "step" : "pass");
    note("sharding.secondary", number(s.sharding.secondary));
    note("sharding.reduce", number(static_cast<int>(s.sharding.reduce)));
    note("train.only", trained_part(s));
    note("train.objective", s.train.objective.has_pairs() ? "of pairs" : "of tokens");
    note("train.average", s.train.average.is_on() ? "on" : "off");
    note("train.micro_batches", number(s.train.micro_batches));
    note("train.accumulate", s.train.is_by_layer() ? "by_layer" : "by_micro_batch");
    note("overlap.prefetch", number(s.overlap.prefetch));
    note("overlap.optimizer_prefetch", number(s.overlap.optimizer_prefetch));
    note("overlap.optimizer_with_backward", !s.overlap.optimizer_with_backward ? "false"
                                            : spec::speculates(s)              ? "speculate"
                                                                               : "true");
    note("optimizer.clip.policy", s.optimizer.clip == spec::ClipPolicy::per_unit ? "per_unit" : "others");
    note("logging.norms", s.logging.norms > 0 ? "on" : "off");
    note("overlap.delayed_update", s.overlap.delayed_update ? "true" : "false");
    note("overlap.tensor", s.overlap.tensor_pieces ? "ring" : "off");
    note("overlap.bucket", number(s.overlap.bucket_elements));
    note("recompute.kind", number(static_cast<int>(s.recompute.kind)));
    note("recompute.every", number(s.recompute.every));
    note("recompute.split", s.recompute.split ? "true" : "false");
    note("recompute.fates", s.recompute.fates.empty()                                            ? "none"
                            : spec::has_fate(s.recompute.fates, spec::ActivationFate::recompute) ? "recompute"
                                                                                                 : "others");
    note("precision.compute", s.precision.compute == DType::f32 ? "f32" : "bf16");
    note("precision.gradient", s.precision.gradient == DType::f32 ? "f32" : "bf16");
    note("tiers.sequence_tiles", number(s.tiers.sequence_tiles));
    note("tiers.tile", s.tiers.tiles.empty() ? "off" : "on");
    note("tiers.reuse", s.tiers.reuse ? "true" : "false");
    note("tiers.operators.embedding", s.tiers.embedding_on_host ? "host" : "device");
    note("tiers.home.parameters", name(s.tiers.parameters));
    note("tiers.home.gradients", name(s.tiers.gradients));
    note("tiers.home.optimizer", name(s.tiers.optimizer));
    note("tiers.home.activations", name(s.tiers.activations));
    note("checkpoint", !s.checkpoint.every ? "none" : s.checkpoint.is_async ? "async" : "sync");
}

std::string Coverage::report() const {
    std::string text;
    for (const auto& [key, values] : counts_) {
        text += key + ":";
        for (const auto& [value, count] : values) {
            text += " " + value + " x" + std::to_string(count);
        }
        text += "\n";
    }
    return text;
}

std::string described(const spec::RunSpec& spec) {
    Coverage one;
    one.note(spec);
    std::string text;
    for (const auto& [key, values] : one.counts()) {
        text += (text.empty() ? "" : ", ") + key + " " + values.begin()->first;
    }
    return text;
}

}  // namespace ziggurat::test
