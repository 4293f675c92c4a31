/// Best rates of matrix products on this machine, stored in the folder of its machine file.
#pragma once

#include <map>
#include <string>

#include "deck/compose/environment.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Best rate of a configuration.
struct KeptPeak {
    double flops = 0;           ///< FLOP/s of a rank
    std::string measured_with;  ///< program and hardware: see measured_with()

    bool operator==(const KeptPeak&) const = default;
};

/// Peaks by configuration: see setup_name().
using Peaks = std::map<std::string, KeptPeak>;

/// Returns the configuration that determines the rate: `bf16 on host, 2 ranks x 4 threads a node`.
std::string setup_name(const spec::RunSpec& run);

/// Parses the file; returns an empty map if it is invalid or of another version.
Peaks read_peaks(const std::string& text);
std::string write_peaks(const Peaks& peaks);

/// File of the peaks. Used by one process at a time: rank 0.
///
/// It is written without a request of the user. Failures to read or write it are therefore silent, and the
/// user's configuration folder (~/.config) is not created.
class PeakCache {
  public:
    /// Opens `machine-HOST.peaks.json` in the folder of the user's machine file.
    ///
    /// \param measured_with  measured_with(); peaks of other programs and other hardware are unknown, because
    ///                       a host name may pass to another machine
    PeakCache(const deck::Environment& environment, std::string measured_with);

    /// Returns the peak of a configuration; 0 if unknown.
    double of(const std::string& setup) const;

    /// Stores `flops` if it is larger than the known peak, and replaces the peak of another program or of
    /// other hardware. The file is replaced atomically.
    void raise(const std::string& setup, double flops) const;

  private:
    Peaks read() const;

    std::string measured_with_;
    std::string path_;  ///< empty if the environment names no configuration folder
};

}  // namespace ziggurat::app
