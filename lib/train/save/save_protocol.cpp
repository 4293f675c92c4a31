#include "train/save/save_protocol.hpp"

#include "base/contract.hpp"

namespace ziggurat::train {

void SaveProtocol::begin() {
    ZG_EXPECTS(phase_ == SavePhase::idle);
    phase_ = SavePhase::writing;
    has_told_ = false;
}

void SaveProtocol::tell(bool is_well, StepRequests& mine) {
    ZG_EXPECTS(owes_word());
    mine[is_well ? StepRequest::save_ended : StepRequest::save_failed] = 1;
    has_told_ = true;
}

SaveNews SaveProtocol::learn(const StepRequests& counts, StepRequests& mine) {
    const auto failed = counts[StepRequest::save_failed];
    const auto told = counts[StepRequest::save_ended] + failed;
    const auto workers = phase_ == SavePhase::writing ? ranks_ : phase_ == SavePhase::committing ? 1 : 0;
    ZG_EXPECTS(told <= workers);
    if (phase_ == SavePhase::idle || told < workers) {
        return SaveNews::none;
    }
    mine[StepRequest::save_ended] = mine[StepRequest::save_failed] = 0;
    has_told_ = false;
    const bool was_writing = phase_ == SavePhase::writing;
    phase_ = was_writing && failed == 0 ? SavePhase::committing : SavePhase::idle;
    if (was_writing) {
        return failed == 0 ? SaveNews::written : SaveNews::not_written;
    }
    return failed == 0 ? SaveNews::complete : SaveNews::not_complete;
}

}  // namespace ziggurat::train
