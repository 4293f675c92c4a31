/// Keyword of a pipeline schedule in decks.
#pragma once

#include <stdexcept>

#include "spec/virtual_stages.hpp"

namespace ziggurat::spec {

constexpr const char* keyword_of(PipelineSchedule schedule, int chunks) {
    switch (schedule) {
        case PipelineSchedule::gpipe:
            return "gpipe";
        case PipelineSchedule::one_f_one_b:
            return "1f1b";
        case PipelineSchedule::interleaved:
            return "interleaved";
        case PipelineSchedule::zero_bubble:
            return turns_back(schedule, chunks) ? "zero_bubble_v" : "zero_bubble";
        case PipelineSchedule::zero_bubble_half:
            return "zero_bubble_v_half";
        case PipelineSchedule::pipedream:
            return "pipedream";
    }
    throw std::invalid_argument{"no PipelineSchedule"};
}

}  // namespace ziggurat::spec
