#include "schedule/expand/pipeline_order.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "schedule/expand/zero_bubble_v.hpp"
#include "spec/virtual_stages.hpp"

namespace ziggurat::schedule {
namespace {

using Pass = Slot::Pass;

std::vector<Slot> all_forward_then_all_backward(int microbatches) {
    std::vector<Slot> order;
    for (const auto pass : {Pass::forward, Pass::backward}) {
        for (int m = 0; m < microbatches; ++m) {
            order.push_back({pass, m, 0});
        }
    }
    return order;
}

/// Orders a warm-up of forwards, then forward and backward alternately, then the remaining backwards.
std::vector<Slot> in_turn(const std::vector<Slot>& forwards, const std::vector<Slot>& backwards, int warmup) {
    const auto total = forwards.size();
    const auto first = std::min(static_cast<std::size_t>(warmup), total);
    std::vector<Slot> order{forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(first)};
    for (std::size_t k = 0; k < total; ++k) {
        if (first + k < total) {
            order.push_back(forwards[first + k]);
        }
        order.push_back(backwards[k]);
    }
    return order;
}

std::vector<Slot> one_forward_one_backward(int stage, int stages, int microbatches) {
    auto forwards = all_forward_then_all_backward(microbatches);
    const auto half = forwards.begin() + microbatches;
    const std::vector<Slot> backwards{half, forwards.end()};
    forwards.erase(half, forwards.end());
    return in_turn(forwards, backwards, stages - stage - 1);
}

/// Sends groups of `stages` micro-batches through all chunks of a stage before the next group starts.
std::vector<Slot> interleaved(int stage, int stages, int chunks, int microbatches) {
    // A last group with fewer micro-batches than stages would make stages wait for each other in a cycle.
    // The order for complete groups has no cycle, and removing slots from it adds no wait.
    const int padded = (microbatches + stages - 1) / stages * stages;
    std::vector<Slot> forwards;
    std::vector<Slot> backwards;
    for (int group = 0; group < padded; group += stages) {
        for (int c = 0; c < chunks; ++c) {
            for (int m = group; m < group + stages; ++m) {
                forwards.push_back({Pass::forward, m, c});
                backwards.push_back({Pass::backward, m, chunks - 1 - c});
            }
        }
    }
    auto order = in_turn(forwards, backwards, 2 * (stages - stage - 1) + (chunks - 1) * stages);
    std::erase_if(order, [&](const Slot& slot) { return slot.microbatch >= microbatches; });
    return order;
}

/// Returns 1F1B with deferred weight gradients, which fill the time in which a stage would wait.
///
/// Stages nearer to the end defer them longer. At most `stages` micro-batches hold activations on any stage.
/// No stage waits for the first one's backward, so it does not defer them.
std::vector<Slot> zero_bubble(int stage, int stages, int microbatches) {
    if (stage == 0) {
        return one_forward_one_backward(stage, stages, microbatches);
    }
    std::vector<Slot> order;
    int weights_done = 0;
    for (auto slot : one_forward_one_backward(stage, stages, microbatches)) {
        if (slot.pass == Pass::forward) {
            order.push_back(slot);
            continue;
        }
        slot.pass = Pass::backward_input;
        order.push_back(slot);
        if (slot.microbatch - weights_done >= stage) {
            order.push_back({Pass::backward_weight, weights_done++, 0});
        }
    }
    while (weights_done < microbatches) {
        order.push_back({Pass::backward_weight, weights_done++, 0});
    }
    return order;
}

VMemory memory_of(const Pipeline& pipeline) {
    return pipeline.schedule == spec::PipelineSchedule::zero_bubble_half ? VMemory::half : VMemory::whole;
}

}  // namespace

bool defers_weight_products(const spec::Parallel& parallel, int stage) {
    return spec::splits_backward(parallel.pipeline_schedule) && (stage > 0 || spec::turns_back(parallel));
}

std::vector<Slot> pipeline_order(const Pipeline& pipeline, int stage) {
    ZG_EXPECTS(0 <= stage && stage < pipeline.stages);
    ZG_EXPECTS(pipeline.microbatches >= 1 && pipeline.chunks >= 1);
    const bool turns_back = spec::turns_back(pipeline.schedule, pipeline.chunks);
    ZG_EXPECTS(pipeline.chunks == 1 || pipeline.schedule == spec::PipelineSchedule::interleaved ||
               turns_back);
    switch (pipeline.schedule) {
        case spec::PipelineSchedule::gpipe:
            return all_forward_then_all_backward(pipeline.microbatches);
        case spec::PipelineSchedule::one_f_one_b:
        case spec::PipelineSchedule::pipedream:
            return one_forward_one_backward(stage, pipeline.stages, pipeline.microbatches);
        case spec::PipelineSchedule::interleaved:
            return pipeline.chunks == 1
                       ? one_forward_one_backward(stage, pipeline.stages, pipeline.microbatches)
                       : interleaved(stage, pipeline.stages, pipeline.chunks, pipeline.microbatches);
        case spec::PipelineSchedule::zero_bubble:
        case spec::PipelineSchedule::zero_bubble_half:
            return turns_back
                       ? zero_bubble_v(pipeline.stages, pipeline.microbatches, memory_of(pipeline))[stage]
                       : zero_bubble(stage, pipeline.stages, pipeline.microbatches);
    }
    ZG_EXPECTS(!"a schedule of the enumeration");
    return {};
}

std::vector<std::vector<Slot>> pipeline_orders(const Pipeline& pipeline) {
    if (spec::turns_back(pipeline.schedule, pipeline.chunks)) {
        return zero_bubble_v(pipeline.stages, pipeline.microbatches, memory_of(pipeline));
    }
    std::vector<std::vector<Slot>> orders;
    for (int stage = 0; stage < pipeline.stages; ++stage) {
        orders.push_back(pipeline_order(pipeline, stage));
    }
    return orders;
}

}  // namespace ziggurat::schedule
