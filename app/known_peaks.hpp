/// The best rates of products that trainings have seen on this machine, kept beside its machine file.
#pragma once

#include <map>
#include <string>

#include "deck/compose/environment.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// FLOP/s of a rank, by what computes: see way_of().
using Peaks = std::map<std::string, double>;

/// `bf16 on host, 2 ranks x 4 threads a node`: runs that reach the same rate.
std::string way_of(const spec::RunSpec& run);

/// Nothing of a text that is no such file.
Peaks read_peaks(const std::string& text);
std::string write_peaks(const Peaks& peaks);

/// The file of them, of one process at a time: rank 0. It is written without being asked for, so nothing is
/// said where it cannot be read or written, and the user's folder of settings is not made.
class KnownPeaks {
  public:
    /// `machine-HOST.peaks.json` beside the user's machine file.
    explicit KnownPeaks(const deck::Environment& environment);

    /// 0: none is known.
    double of(const std::string& way) const;

    /// Keeps `flops` where it is more than what is known, the file whole at any moment.
    void raise(const std::string& way, double flops) const;

  private:
    Peaks read() const;

    std::string path_;  ///< empty: there is no place
};

}  // namespace ziggurat::app
