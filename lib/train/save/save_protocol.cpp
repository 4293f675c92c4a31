#include "train/save/save_protocol.hpp"

#include "base/contract.hpp"

namespace ziggurat::train {

void SaveProtocol::begin() {
    ZG_EXPECTS(phase_ == SavePhase::idle);
    phase_ = SavePhase::writing;
    has_told_ = false;
}

void SaveProtocol::tell(bool is_well, Wishes& mine) {
    ZG_EXPECTS(owes_word());
    mine[is_well ? Wish::save_ended : Wish::save_failed] = 1;
    has_told_ = true;
}

SaveNews SaveProtocol::learn(const Wishes& counts, Wishes& mine) {
    const auto failed = counts[Wish::save_failed];
    const auto told = counts[Wish::save_ended] + failed;
    const auto workers = phase_ == SavePhase::writing ? ranks_ : phase_ == SavePhase::committing ? 1 : 0;
    ZG_EXPECTS(told <= workers);
    if (phase_ == SavePhase::idle || told < workers) {
        return SaveNews::none;
    }
    mine[Wish::save_ended] = mine[Wish::save_failed] = 0;
    has_told_ = false;
    const bool was_writing = phase_ == SavePhase::writing;
    phase_ = was_writing && failed == 0 ? SavePhase::committing : SavePhase::idle;
    if (was_writing) {
        return failed == 0 ? SaveNews::written : SaveNews::not_written;
    }
    return failed == 0 ? SaveNews::complete : SaveNews::not_complete;
}

}  // namespace ziggurat::train
