/// Human-readable tables of a run's account.
#pragma once

#include <span>
#include <string>

#include "train/account/accounting.hpp"
#include "train/account/bottleneck.hpp"
#include "train/account/planned_step.hpp"

namespace ziggurat::train {

/// Returns the account of all ranks as tables of 96 columns.
///
/// They show: activities with minimum, mean and maximum over ranks, `Rest` and `Total`; the longest waits by
/// name; planned and counted bytes of collectives and links; kernels, summed over ranks; tokens per second;
/// notes. Pure; rank r's record is at index r.
///
/// \param flops_per_token  of the model, forward and backward; 0: the rate is not printed
/// \param facts            of the plan, to print what limits the run; nullptr: that is not printed
/// \param mfu_of_one_token_s  model FLOPs utilisation at one token per second; 0: it is not printed
/// \param planned          the planned step, to print it next to the measured mean; nullptr: not printed
std::string account_table(std::span<const AccountRecord> ranks,
                          double flops_per_token,
                          const BottleneckFacts* facts = nullptr,
                          double mfu_of_one_token_s = 0,
                          const PlannedStep* planned = nullptr);

}  // namespace ziggurat::train
