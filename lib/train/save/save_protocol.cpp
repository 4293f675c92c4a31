#include "train/save/save_protocol.hpp"

#include "base/contract.hpp"

namespace ziggurat::train {

void SaveProtocol::begin() {
    ZG_EXPECTS(phase_ == SavePhase::idle);
    phase_ = SavePhase::writing;
    has_reported_ = false;
}

void SaveProtocol::report_done(bool is_well, StepRequests& mine) {
    ZG_EXPECTS(must_report());
    mine[is_well ? StepRequest::save_ended : StepRequest::save_failed] = 1;
    has_reported_ = true;
}

SaveEvent SaveProtocol::update(const StepRequests& counts, StepRequests& mine) {
    const auto failed = counts[StepRequest::save_failed];
    const auto reported = counts[StepRequest::save_ended] + failed;
    const auto workers = phase_ == SavePhase::writing ? ranks_ : phase_ == SavePhase::committing ? 1 : 0;
    ZG_EXPECTS(reported <= workers);
    if (phase_ == SavePhase::idle || reported < workers) {
        return SaveEvent::none;
    }
    mine[StepRequest::save_ended] = mine[StepRequest::save_failed] = 0;
    has_reported_ = false;
    const bool was_writing = phase_ == SavePhase::writing;
    phase_ = was_writing && failed == 0 ? SavePhase::committing : SavePhase::idle;
    if (was_writing) {
        return failed == 0 ? SaveEvent::written : SaveEvent::not_written;
    }
    return failed == 0 ? SaveEvent::complete : SaveEvent::not_complete;
}

}  // namespace ziggurat::train
