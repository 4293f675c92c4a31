/// The account of a run as tables for people.
#pragma once

#include <span>
#include <string>

#include "train/account/accounting.hpp"
#include "train/account/bottleneck.hpp"

namespace ziggurat::train {

/// Activities with minimum, mean and maximum over ranks, `Rest` and `Total`; the longest waits by name;
/// planned and counted bytes of collectives; kernels of all ranks together; tokens per second; notes. Tables
/// are 96 columns wide. Pure; rank r's record is at index r.
///
/// \param flops_per_token  of the model, forward and backward; 0: the rate is not printed
/// \param facts            of the plan: what limits the run is said; nothing: it is not
/// \param mfu_of_one_token_s  model FLOPs utilisation at one token per second; 0: it is not printed
std::string account_table(std::span<const AccountRecord> ranks,
                          double flops_per_token,
                          const BottleneckFacts* facts = nullptr,
                          double mfu_of_one_token_s = 0);

}  // namespace ziggurat::train
