#include <fmt/format.h>

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {
namespace {

spec::DType type_of(const std::string& word) {
    return word == "bf16" ? spec::DType::bf16 : spec::DType::f32;
}

/// `extent` in steps, rounded up.
std::int64_t steps_of(const Resolution& resolution, const std::string& path) {
    const Extent extent = resolution.values.as<Extent>(path);
    const spec::RunSpec& run = resolution.run;
    const std::int64_t step_tokens = run.train.global_batch * run.data.seq;
    switch (extent.unit) {
        case Extent::Unit::steps:
            return extent.steps;
        case Extent::Unit::tokens:
            return step_tokens > 0 ? (extent.tokens + step_tokens - 1) / step_tokens : 0;
        case Extent::Unit::share:
            break;
    }
    return static_cast<std::int64_t>(extent.share * static_cast<double>(run.train.steps));
}

/// Keeps a default that nothing reads out of the effective deck.
void erase_default(Values& values, const std::string& path) {
    if (!values.is_written(path)) {
        values.erase(path);
    }
}

void resolve_schedule(Resolution& resolution) {
    Values& values = resolution.values;
    spec::LearningRate& schedule = resolution.run.schedule;
    const std::string kind = values.word("schedule.kind");
    schedule.kind = kind == "constant" ? spec::ScheduleKind::constant
                    : kind == "linear" ? spec::ScheduleKind::linear
                    : kind == "wsd"    ? spec::ScheduleKind::warmup_stable_decay
                                       : spec::ScheduleKind::cosine;
    schedule.warmup_steps = steps_of(resolution, "schedule.warmup");
    if (resolution.is_auto("schedule.decay")) {
        const std::int64_t steps = kind == "wsd" ? (resolution.run.train.steps + 4) / 5 : 0;
        values.set_resolved("schedule.decay", Extent{.steps = steps}, fmt::format("{} steps", steps),
                            kind == "wsd" ? "20% of the steps" : "only wsd has it");
    }
    schedule.decay_steps = kind == "wsd" ? steps_of(resolution, "schedule.decay") : 0;
    schedule.final_fraction = values.real("schedule.final_fraction");
    if (kind == "constant") {
        erase_default(values, "schedule.final_fraction");
    }
}

void resolve_optimizer(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Optimizer& optimizer = resolution.run.optimizer;
    const auto betas = values.as<std::vector<double>>("optimizer.betas");
    optimizer.lr = values.real("optimizer.lr");
    optimizer.beta1 = betas.size() == 2 ? betas[0] : optimizer.beta1;
    optimizer.beta2 = betas.size() == 2 ? betas[1] : optimizer.beta2;
    optimizer.epsilon = values.real("optimizer.eps");
    optimizer.weight_decay = values.real("optimizer.weight_decay");
    optimizer.no_decay = values.as<std::vector<std::string>>("optimizer.no_decay");
    optimizer.clip =
        values.is_word("optimizer.clip.policy", "off") ? spec::ClipPolicy::off : spec::ClipPolicy::global;
    optimizer.clip_norm = values.real("optimizer.clip.norm");
    if (optimizer.clip == spec::ClipPolicy::off) {
        erase_default(values, "optimizer.clip.norm");
    }
}

}  // namespace

void resolve_numerics(Resolution& resolution) {
    Values& values = resolution.values;
    spec::RunSpec& run = resolution.run;
    run.precision = {.compute = type_of(values.word("precision.compute")),
                     .master = type_of(values.word("precision.master")),
                     .gradient = type_of(values.word("precision.gradient")),
                     .reduce = type_of(values.word("precision.reduce"))};
    const std::string kind = values.word("recompute.kind");
    run.recompute.kind = kind == "selective" ? spec::RecomputeKind::selective
                         : kind == "full"    ? spec::RecomputeKind::full
                                             : spec::RecomputeKind::none;
    run.recompute.every = static_cast<int>(values.integer("recompute.every"));
    if (!resolution.is_auto("overlap.prefetch")) {  // else resolve_depths does it
        run.overlap.prefetch = static_cast<int>(values.integer("overlap.prefetch"));
    }
    if (!resolution.is_auto("overlap.optimizer_prefetch")) {
        run.overlap.optimizer_prefetch = static_cast<int>(values.integer("overlap.optimizer_prefetch"));
    }
    if (resolution.is_auto("overlap.bucket")) {
        resolution.set_resolved_integer("overlap.bucket", 0, "each unit alone");
    }
    run.overlap.bucket_elements = values.integer("overlap.bucket");
    run.overlap.optimizer_with_backward = values.truth("overlap.optimizer_with_backward");
    run.overlap.delayed_update = values.truth("overlap.delayed_update.enabled");
    run.overlap.delayed_update_after = steps_of(resolution, "overlap.delayed_update.after");
    if (resolution.is_auto("debug.nodes")) {
        values.set_resolved("debug.nodes", {}, "none", "the real nodes");
    }
    run.debug.nodes = static_cast<int>(values.integer("debug.nodes"));
    run.debug.throttle = {.nvme_read = values.real("debug.throttle.nvme_read"),
                          .nvme_write = values.real("debug.throttle.nvme_write"),
                          .host_to_device = values.real("debug.throttle.host_to_device"),
                          .device_to_host = values.real("debug.throttle.device_to_host")};
    resolve_optimizer(resolution);
    resolve_schedule(resolution);
}

}  // namespace ziggurat::deck
