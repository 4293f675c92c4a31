#include "plan/layouts/layout_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/round_up.hpp"
#include "layout/context/context_heads.hpp"
#include "layout/stage_layers.hpp"
#include "plan/layouts/axis_rules.hpp"
#include "spec/data_ranks.hpp"
#include "spec/recompute_text.hpp"

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
    const bool allows_stages = spec.train.accumulate == spec::AccumulationOrder::by_micro_batch;
    return runs <= layers && (stages == 1 || allows_stages) &&
           (chunks == 1 || (stages > 1 && layers % runs == 0));
}

/// Returns the numbers from which a search chooses, or only the one that stays.
template <class Number>
std::vector<Number> powers_of_two(bool is_chosen, Number stays, Number max) {
    if (!is_chosen) {
        return {stays};
    }
    std::vector<Number> powers;
    for (Number power = 1; power <= max; power *= 2) {
        powers.push_back(power);
    }
    return powers;
}

class Lister {
  public:
    Lister(const spec::RunSpec& spec, const spec::LayoutSpace& space) : spec_{spec}, space_{space} {}

    std::vector<LayoutChoice> run() && {
        const int ranks = spec_.parallel.ranks;
        for (const int tensor : powers_of_two(space_.tensor, spec_.parallel.tensor, ranks)) {
            if (space_.tensor && !splits_over(spec_, tensor)) {
                continue;
            }
            for (const int context : context_degrees(ranks / tensor)) {
                if (can_have(tensor, context)) {
                    add_stages(ranks, tensor, context);
                }
            }
        }
        return std::move(found_);
    }

  private:
    std::vector<int> context_degrees(int max) const {
        const int own = spec_.parallel.context;
        auto degrees = powers_of_two(space_.context, own, max);
        if (std::ranges::find(degrees, own) == degrees.end()) {
            degrees.push_back(own);
        }
        return degrees;
    }

    /// True if these ranks can divide the heads and the positions of a sequence.
    bool can_have(int tensor, int context) const {
        auto run = spec_;
        run.parallel.context = context;
        const bool needs_division = !space_.sequence && spec_.parallel.sequence;
        return (context == spec_.parallel.context || can_share_sequences(run)) &&
               ((!space_.tensor && !space_.context) ||
                layout::can_exchange_heads(run.model, run.parallel, tensor)) &&
               (!needs_division || spec::can_share_tokens(run, tensor));
    }

    void add_stages(int ranks, int tensor, int context) {
        const auto& parallel = spec_.parallel;
        const int tensor_ranks = tensor * parallel.tensor_rows;
        const int first = space_.pipeline ? 1 : parallel.stages;
        const int last = space_.pipeline ? ranks / tensor_ranks : first;
        for (int stages = first; stages <= last; ++stages) {
            const int data = ranks / (tensor_ranks * stages);
            const bool is_whole =
                ranks % (tensor_ranks * stages) == 0 && data % (context * parallel.tensor_depth) == 0;
            const bool has_sum_groups = space_.sum_group == 0 || data % space_.sum_group == 0;
            if (is_whole && has_sum_groups && (space_.data || data == parallel.data)) {
                add_spans({.tensor = tensor, .context = context, .stages = stages, .data = data});
            }
        }
    }

    void add_spans(const LayoutChoice& choice) {
        auto run = spec_;
        run.parallel.tensor = choice.tensor;
        run.parallel.context = choice.context;
        run.parallel.stages = choice.stages;
        run.parallel.data = choice.data;
        spans_.clear();
        for (const auto& allowed :
             spec::allowed_spans(space_.spans, choice.data, spec::data_ranks_of_node(run))) {
            const auto spans = spec::in_whole_layers(allowed, run.parallel.min_span());
            if (std::ranges::find(spans_, spans) == spans_.end()) {
                spans_.push_back(spans);
            }
        }
        add_chunks(choice);
    }

    void add_chunks(LayoutChoice choice) {
        const int first = space_.chunks ? 1 : spec_.parallel.chunks_per_stage;
        const int last = space_.chunks ? max_chunks_tried : first;
        for (choice.chunks = first; choice.chunks <= last; ++choice.chunks) {
            if (can_have_stages(spec_, choice.stages, choice.chunks)) {
                add_batches(choice);
            }
        }
    }

    void add_batches(LayoutChoice choice) {
        const auto& train = spec_.train;
        for (const auto sequences : powers_of_two(space_.micro_batch, train.micro_batch, max_micro_batch)) {
            choice.micro_batch = sequences;
            const auto of_a_pass =
                choice.micro_batch * (choice.data / choice.context) * spec_.parallel.tensor_rows;
            const auto layers = (spec_.model.layers + choice.stages - 1) / choice.stages;
            if (train.global_batch % of_a_pass == 0 &&
                layers * (train.global_batch / of_a_pass) <= max_layer_passes) {
                add_kinds(choice);
            }
        }
    }

    void add_kinds(LayoutChoice choice) {
        for (const auto& spans : spans_) {
            choice.spans = spans;
            for (const auto kind : recomputations) {
                if (space_.recompute || kind == spec_.recompute.kind) {
                    choice.recompute = kind;
                    found_.push_back(choice);
                }
            }
        }
    }

    const spec::RunSpec& spec_;
    const spec::LayoutSpace& space_;
    std::vector<spec::StateSpans> spans_;  ///< of the degrees that are being listed
    std::vector<LayoutChoice> found_;
};

void set_pipeline(spec::RunSpec& made, const LayoutChoice& choice, const spec::LayoutSpace& space) {
    auto& parallel = made.parallel;
    if (!space.pipeline && !space.chunks) {
        return;
    }
    parallel.stages = choice.stages;
    parallel.chunks_per_stage = choice.chunks;
    if (space.chunks) {
        parallel.pipeline_schedule =
            choice.chunks > 1 ? spec::PipelineSchedule::interleaved : spec::PipelineSchedule::one_f_one_b;
    }
    parallel.stage_layers.clear();
    made.stages.clear();
}

/// Returns the largest number of data ranks of a node that divides all of them.
int equal_ranks_of_node(const spec::RunSpec& run) {
    return std::gcd(run.parallel.data, spec::data_ranks_of_node(run));
}

/// Returns the number of ranks that sum first.
///
/// It is the number that the deck sets, else the data ranks of a node, or all if the run sums flat over
/// nodes.
int sum_group_of(const spec::RunSpec& made, const spec::RunSpec& before, const spec::LayoutSpace& space) {
    if (space.sum_group > 0) {
        return space.sum_group;
    }
    const int data = before.parallel.data;
    const bool is_flat = before.sharding.sum_group == data && equal_ranks_of_node(before) != data;
    return is_flat ? made.parallel.data : equal_ranks_of_node(made);
}

/// Returns the span of a second copy within a node, if `before` has one and it differs from the first.
int second_copy_of(const spec::RunSpec& made, const spec::RunSpec& before) {
    if (made.parallel.data == before.parallel.data &&
        made.sharding.parameters == before.sharding.parameters) {
        return before.sharding.secondary;
    }
    const int span = std::gcd(made.sharding.parameters, equal_ranks_of_node(made));
    return before.sharding.secondary > 0 && span > 1 && span < made.sharding.parameters ? span : 0;
}

void set_sharding(spec::RunSpec& made,
                  const LayoutChoice& choice,
                  const spec::LayoutSpace& space,
                  const spec::RunSpec& before) {
    auto& sharding = made.sharding;
    sharding.parameters = choice.spans.parameters;
    sharding.gradients = choice.spans.gradients;
    sharding.optimizer = choice.spans.optimizer;
    const bool chooses_parameters = space.spans.parameters.kind == spec::SpanSetting::Kind::any;
    sharding.secondary = chooses_parameters ? 0 : second_copy_of(made, before);
    sharding.is_by_span = !spec::zero_stage_of(choice.spans, choice.data);
    sharding.sum_group = sum_group_of(made, before, space);
    sharding.reduce = spec::reduce_plan_of(choice.spans, choice.data, made.tiers.gradients.device < 1);
}

void set_recomputation(spec::RunSpec& made, const LayoutChoice& choice, const spec::LayoutSpace& space) {
    auto& recompute = made.recompute;
    if (space.recompute) {
        recompute.kind = choice.recompute;
        recompute.every = recompute.kind == spec::RecomputeKind::full ? recompute.every : 1;
        recompute.is_auto = false;
    }
    if (space.recompute || space.tensor || space.sequence) {
        recompute.split =
            recompute.kind == spec::RecomputeKind::full && choice.tensor > 1 && !made.parallel.sequence;
    }
}

/// Distributes the layers of single stages, and sets their recomputation where it is open.
void set_stages(spec::RunSpec& made, const spec::LayoutSpace& space) {
    for (auto& state : made.stages) {
        if (space.recompute && state.recompute.is_auto) {
            state.recompute = made.recompute;
        }
    }
    if (!made.stages.empty() && made.parallel.stage_layers.empty()) {
        made.parallel.stage_layers = layout::stage_layers(made);  // as decks distribute them
    }
}

/// Returns the override for the sharding of a layout, with its sum groups if they are not nodes.
std::string sharding_override(const spec::RunSpec& made, bool gathers_each_pass) {
    const auto& sharding = made.sharding;
    const int data = made.parallel.data;
    const auto stage = spec::zero_stage_of(spec::spans_of(sharding), data);
    auto text = stage ? fmt::format("zero: {}", *stage)
                      : fmt::format("parameters: {}, gradients: {}, optimizer: {}", sharding.parameters,
                                    sharding.gradients, sharding.optimizer);
    if (sharding.sum_group != equal_ranks_of_node(made)) {
        text += sharding.sum_group == data ? ", sum_group: flat"
                                           : fmt::format(", sum_group: {}", sharding.sum_group);
    }
    text += gathers_each_pass && sharding.parameters > 1 ? ", leases: pass" : "";
    return fmt::format("sharding={{{}}}", text);
}

}  // namespace

std::vector<LayoutChoice> all_layouts(const spec::RunSpec& spec, const spec::LayoutSpace& space) {
    return Lister{spec, space}.run();
}

spec::RunSpec with_layout(const spec::RunSpec& spec,
                          const LayoutChoice& choice,
                          const spec::LayoutSpace& space) {
    auto made = spec;
    made.parallel.tensor = choice.tensor;
    made.parallel.context = choice.context;
    if (space.sequence) {
        made.parallel.sequence = spec::can_share_tokens(made, choice.tensor);
    }
    made.parallel.data = choice.data;
    made.model.vocab_padded = round_up(spec.model.vocab_padded, std::int64_t{choice.tensor});
    made.train.micro_batch = choice.micro_batch;
    made.train.micro_batches =
        spec.train.global_batch / (choice.micro_batch * made.parallel.sequence_groups());
    set_pipeline(made, choice, space);
    set_sharding(made, choice, space, spec);
    set_recomputation(made, choice, space);
    set_stages(made, space);
    return made;
}

LayoutChoice layout_of(const spec::RunSpec& spec) {
    const auto& parallel = spec.parallel;
    return {.tensor = parallel.tensor,
            .context = parallel.context,
            .stages = parallel.stages,
            .chunks = parallel.chunks_per_stage,
            .data = parallel.data,
            .spans = spec::spans_of(spec.sharding),
            .micro_batch = spec.train.micro_batch,
            .recompute = spec.recompute.kind};
}

std::string described(const LayoutChoice& choice) {
    const auto chunks = choice.chunks > 1 ? fmt::format(" x {} chunks", choice.chunks) : std::string{};
    const auto context = choice.context > 1 ? fmt::format(", context {}", choice.context) : std::string{};
    return fmt::format("tensor {}{}, stages {}{}, data {}, {}, micro-batch {}, recompute {}", choice.tensor,
                       context, choice.stages, chunks, choice.data / choice.context,
                       spec::span_text(choice.spans, choice.data), choice.micro_batch,
                       spec::keyword_of(choice.recompute));
}

std::vector<std::string> override_list(const LayoutChoice& choice,
                                       const spec::RunSpec& spec,
                                       const spec::LayoutSpace& space,
                                       bool gathers_each_pass) {
    const auto made = with_layout(spec, choice, space);
    std::vector<std::string> list;
    if (!spec.parallel.has_grid()) {  // a grid stays
        list = {fmt::format("parallel.tensor={}", choice.tensor),
                fmt::format("parallel.sequence={}", spec::can_share_tokens(made, choice.tensor))};
    }
    if (choice.context > 1 || spec.parallel.context > 1) {
        list.push_back(fmt::format("parallel.context.degree={}", choice.context));
    }
    const auto sequence_ranks = choice.context * spec.parallel.tensor_depth;
    const std::vector<std::string> others{
        choice.chunks > 1 ? fmt::format("parallel.pipeline={{stages: {}, chunks_per_stage: {}, "
                                        "schedule: interleaved}}",
                                        choice.stages, choice.chunks)
                          : fmt::format("parallel.pipeline={{stages: {}}}", choice.stages),
        fmt::format("parallel.data={}", choice.data / sequence_ranks),
        sharding_override(made, gathers_each_pass), fmt::format("train.micro_batch={}", choice.micro_batch),
        fmt::format("recompute={{kind: {}}}", spec::keyword_of(choice.recompute))};
    list.insert(list.end(), others.begin(), others.end());
    return list;
}

std::string overrides_of(const LayoutChoice& choice,
                         const spec::RunSpec& spec,
                         const spec::LayoutSpace& space,
                         bool gathers_each_pass) {
    std::string text;
    for (const auto& value : override_list(choice, spec, space, gathers_each_pass)) {
        text += value.find(' ') == std::string::npos ? " " + value : " '" + value + "'";
    }
    return text;
}

}  // namespace ziggurat::plan
