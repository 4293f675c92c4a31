/// Rates by kind of work from measured times of the ops of a program.
#pragma once

#include <span>
#include <vector>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Kinds of work of compute ops whose rate is not that of a product.
struct OpRates {
    spec::AttentionRate attention = {};
    EnumArray<spec::SweepKind, spec::SweepRate> sweeps = {};

    bool operator==(const OpRates&) const = default;
};

/// A program whose ops were timed, and the time of each op.
///
/// Ownership: borrowed
struct TimedProgram {
    const schedule::Program& program;
    const spec::RunSpec& spec;
    const schedule::ModelLayout& model;
    std::span<const double> seconds;  ///< by op; 0: not measured
};

/// Returns the seconds that one op takes without the work of its kernels; 0 if no op has only a sweep.
///
/// It is the median over ops with kernels bound by memory, each divided by the number of its launches. It is
/// an estimate from above: the timed program should be so small that its kernels have almost no work.
double op_overhead(const TimedProgram& timed);

/// Returns the rates with which op_seconds() gives the total time of each kind of work.
///
/// `overhead` is subtracted from the time of each op, for each of its launches.
///
/// Ops that contain a product are left out, except attention. Kinds of work that the programs lack are 0.
OpRates op_rates(std::span<const TimedProgram> timed, double overhead);

}  // namespace ziggurat::plan
