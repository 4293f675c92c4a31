/// Texts of all ranks brought together: for accounts, places and messages, never in a step.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace ziggurat::train {

/// The texts of all ranks, by rank, on rank 0; nothing elsewhere. Collective: over `ranks`
std::vector<std::string> gather_texts(const comm::Communicator& ranks, const std::string& mine);

/// The texts of all ranks, by rank, on every rank. Collective: over `ranks`
std::vector<std::string> share_texts(const comm::Communicator& ranks, const std::string& mine);

/// Rank 0's text on every rank. Collective: over `ranks`
std::string broadcast_text(const comm::Communicator& ranks, const std::string& text);

}  // namespace ziggurat::train
