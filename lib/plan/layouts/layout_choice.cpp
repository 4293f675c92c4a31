#include "plan/layouts/layout_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/round_up.hpp"
#include "plan/layouts/axis_rules.hpp"

namespace ziggurat::plan {
namespace {

constexpr std::int64_t max_micro_batch = 64;
constexpr int max_chunks_tried = 16;

constexpr std::array recomputations{spec::RecomputeKind::none, spec::RecomputeKind::selective,
                                    spec::RecomputeKind::full};

/// True if tensor ranks can divide the model, as the deck's rules require, and lie within a node.
bool splits_over(const spec::RunSpec& spec, int tensor) {
    return can_divide_layers(spec.model, tensor) &&
           (tensor == 1 || std::max(spec.parallel.ranks_per_node, 1) % tensor == 0);
}

bool can_have_stages(const spec::RunSpec& spec, int stages, int chunks) {
    const auto layers = spec.model.layers;
    const std::int64_t runs = std::int64_t{stages} * chunks;
    return runs <= layers && (chunks == 1 || (stages > 1 && layers % runs == 0));
}

const char* name_of(spec::RecomputeKind kind) {
    return kind == spec::RecomputeKind::full   ? "full"
           : kind == spec::RecomputeKind::none ? "none"
                                               : "selective";
}

class Lister {
  public:
    explicit Lister(const spec::RunSpec& spec) : spec_{spec} {}

    std::vector<LayoutChoice> run() && {
        const int ranks = spec_.parallel.ranks / spec_.parallel.context;
        for (int tensor = 1; tensor <= ranks; tensor *= 2) {
            for (int stages = 1; splits_over(spec_, tensor) && stages <= ranks / tensor; ++stages) {
                if (ranks % (tensor * stages) == 0) {
                    add_chunks({.tensor = tensor, .stages = stages, .data = ranks / tensor / stages});
                }
            }
        }
        return std::move(found_);
    }

  private:
    void add_chunks(LayoutChoice choice) {
        for (choice.chunks = 1; choice.chunks <= max_chunks_tried; ++choice.chunks) {
            if (can_have_stages(spec_, choice.stages, choice.chunks)) {
                add_batches(choice);
            }
        }
    }

    void add_batches(LayoutChoice choice) {
        const auto& train = spec_.train;
        for (choice.micro_batch = 1; choice.micro_batch <= max_micro_batch; choice.micro_batch *= 2) {
            const auto of_a_pass = choice.micro_batch * choice.data;
            const auto layers = (spec_.model.layers + choice.stages - 1) / choice.stages;
            if (train.global_batch % of_a_pass == 0 &&
                layers * (train.global_batch / of_a_pass) <= max_layer_passes) {
                add_kinds(choice);
            }
        }
    }

    void add_kinds(LayoutChoice choice) {
        for (choice.zero = 0; choice.zero <= (choice.data > 1 ? 3 : 0); ++choice.zero) {
            for (const auto kind : recomputations) {
                choice.recompute = kind;
                found_.push_back(choice);
            }
        }
    }

    const spec::RunSpec& spec_;
    std::vector<LayoutChoice> found_;
};

}  // namespace

std::vector<LayoutChoice> all_layouts(const spec::RunSpec& spec) {
    return Lister{spec}.run();
}

spec::RunSpec with_layout(const spec::RunSpec& spec, const LayoutChoice& choice) {
    auto made = spec;
    auto& parallel = made.parallel;
    parallel.tensor = choice.tensor;
    parallel.sequence = can_share_tokens(spec, choice.tensor);
    parallel.stages = choice.stages;
    parallel.chunks_per_stage = choice.chunks;
    parallel.pipeline_schedule =
        choice.chunks > 1 ? spec::PipelineSchedule::interleaved : spec::PipelineSchedule::one_f_one_b;
    parallel.stage_layers.clear();
    parallel.data = choice.data;
    made.stages.clear();
    made.model.vocab_padded = round_up(spec.model.vocab_padded, std::int64_t{choice.tensor});
    made.train.micro_batch = choice.micro_batch;
    made.train.micro_batches = spec.train.global_batch / (choice.micro_batch * choice.data);
    auto& sharding = made.sharding;
    sharding.optimizer = choice.zero >= 1 ? choice.data : 1;
    sharding.gradients = choice.zero >= 2 ? choice.data : 1;
    sharding.parameters = choice.zero >= 3 ? choice.data : 1;
    sharding.secondary = 0;
    sharding.is_by_span = false;
    sharding.sum_group = choice.data;
    sharding.reduce = choice.zero >= 2 || spec.tiers.gradients.device < 1 ? spec::ReducePlan::each_microbatch
                                                                          : spec::ReducePlan::at_end;
    made.recompute.kind = choice.recompute;
    made.recompute.every = 1;
    made.recompute.split =
        choice.recompute == spec::RecomputeKind::full && choice.tensor > 1 && !parallel.sequence;
    return made;
}

std::string described(const LayoutChoice& choice) {
    const auto chunks = choice.chunks > 1 ? fmt::format(" x {} chunks", choice.chunks) : std::string{};
    return fmt::format("tensor {}, stages {}{}, data {}, zero {}, micro-batch {}, recompute {}",
                       choice.tensor, choice.stages, chunks, choice.data, choice.zero, choice.micro_batch,
                       name_of(choice.recompute));
}

std::vector<std::string> override_list(const LayoutChoice& choice, const spec::RunSpec& spec) {
    std::vector<std::string> list{fmt::format("parallel.tensor={}", choice.tensor),
                                  fmt::format("parallel.sequence={}", can_share_tokens(spec, choice.tensor)),
                                  choice.chunks > 1
                                      ? fmt::format("parallel.pipeline={{stages: {}, chunks_per_stage: {}, "
                                                    "schedule: interleaved}}",
                                                    choice.stages, choice.chunks)
                                      : fmt::format("parallel.pipeline={{stages: {}}}", choice.stages),
                                  fmt::format("parallel.data={}", choice.data),
                                  fmt::format("sharding={{zero: {}}}", choice.zero),
                                  fmt::format("train.micro_batch={}", choice.micro_batch),
                                  fmt::format("recompute={{kind: {}}}", name_of(choice.recompute))};
    return list;
}

std::string overrides_of(const LayoutChoice& choice, const spec::RunSpec& spec) {
    std::string text;
    for (const auto& value : override_list(choice, spec)) {
        text += value.find(' ') == std::string::npos ? " " + value : " '" + value + "'";
    }
    return text;
}

}  // namespace ziggurat::plan
