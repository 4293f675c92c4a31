#include "comm/dry_run_collectives.hpp"

#include "base/contract.hpp"

namespace ziggurat::comm {

DryRunCollectives::DryRunCollectives(int size, int rank) : size_{size}, rank_{rank} {
    ZG_EXPECTS(size >= 1 && rank >= 0 && rank < size);
}

int DryRunCollectives::prepare(CollectiveCall call) {
    check_call(call, size_, rank_);
    bytes_of_call_.push_back(bytes_to_send(call, size_, rank_));
    bytes_moved_.push_back(0);
    return static_cast<int>(bytes_of_call_.size()) - 1;
}

void DryRunCollectives::start(int call) {
    bytes_moved_.at(static_cast<std::size_t>(call)) += bytes_of_call_.at(static_cast<std::size_t>(call));
}

bool DryRunCollectives::poll(int call) {
    ZG_EXPECTS(call >= 0 && static_cast<std::size_t>(call) < bytes_of_call_.size());
    return true;
}

}  // namespace ziggurat::comm
