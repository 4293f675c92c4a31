#include "spec/state_spans.hpp"

#include <fmt/format.h>

#include <numeric>

namespace ziggurat::spec {
namespace {

constexpr int num_stages = 4;

/// Returns the values of one span, ascending and different.
std::vector<int> values_of(const SpanSetting& setting, int data, int on_node) {
    switch (setting.kind) {
        case SpanSetting::Kind::node:
            return {on_node};
        case SpanSetting::Kind::all:
            return {data};
        case SpanSetting::Kind::number:
            return {setting.number};
        case SpanSetting::Kind::any:
            break;
    }
    std::vector<int> values{1};
    for (const int span : {std::gcd(data, on_node), data}) {
        if (span > values.back()) {
            values.push_back(span);
        }
    }
    return values;
}

}  // namespace

StateSpans spans_of(const Sharding& sharding) {
    return {sharding.parameters, sharding.gradients, sharding.optimizer};
}

StateSpans spans_of_stage(int stage, int data) {
    return {.parameters = stage >= 3 ? data : 1,
            .gradients = stage >= 2 ? data : 1,
            .optimizer = stage >= 1 ? data : 1};
}

StateSpans in_whole_layers(StateSpans spans, int layers) {
    for (int* span : {&spans.parameters, &spans.gradients, &spans.optimizer}) {
        *span = *span % layers == 0 ? *span : layers;
    }
    return spans;
}

std::optional<int> zero_stage_of(const StateSpans& spans, int data) {
    for (int stage = 0; stage < num_stages; ++stage) {
        if (spans_of_stage(stage, data) == spans) {
            return stage;
        }
    }
    return std::nullopt;
}

std::string span_text(const StateSpans& spans, int data) {
    const auto stage = zero_stage_of(spans, data);
    return stage ? fmt::format("zero {}", *stage)
                 : fmt::format("spans {}/{}/{}", spans.parameters, spans.gradients, spans.optimizer);
}

ReducePlan reduce_plan_of(const StateSpans& spans, int data, bool leave_device) {
    const int span = spans.gradients;
    return leave_device || (span > 1 && span >= data) ? ReducePlan::each_microbatch
           : span > 1                                 ? ReducePlan::by_span
                                                      : ReducePlan::at_end;
}

bool SpanSettings::has_any() const {
    const auto is_any = [](const SpanSetting& setting) { return setting.kind == SpanSetting::Kind::any; };
    return is_any(parameters) || is_any(gradients) || is_any(optimizer);
}

SpanSettings settings_of_stage(int stage) {
    const auto setting = [&](int first_stage) {
        return SpanSetting{stage >= first_stage ? SpanSetting::Kind::all : SpanSetting::Kind::number, 1};
    };
    return {.parameters = setting(3), .gradients = setting(2), .optimizer = setting(1)};
}

std::vector<StateSpans> allowed_spans(const SpanSettings& settings, int data, int on_node) {
    std::vector<StateSpans> found;
    for (const int parameters : values_of(settings.parameters, data, on_node)) {
        for (const int gradients : values_of(settings.gradients, data, on_node)) {
            for (const int optimizer : values_of(settings.optimizer, data, on_node)) {
                const bool are_nested =
                    gradients % parameters == 0 && optimizer % gradients == 0 && data % optimizer == 0;
                if (are_nested && (gradients == parameters || gradients == optimizer)) {
                    found.push_back({parameters, gradients, optimizer});
                }
            }
        }
    }
    return found;
}

}  // namespace ziggurat::spec
