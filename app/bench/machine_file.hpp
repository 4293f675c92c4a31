/// File with the measured rates of this machine.
#pragma once

#include <string>

#include "spec/machine_spec.hpp"

namespace ziggurat::app {

/// The user's machine file for this machine, or the one that --machine-file names.
class MachineFile {
  public:
    /// Creates its folder, so that an unwritable path fails before the measurement.
    ///
    /// \param named  value of --machine-file; empty: the user's file
    /// Errors: Error{resource} if the folder is not writable
    explicit MachineFile(const std::string& named);

    /// Returns the content of the file; if it does not exist, the detected facts of this machine.
    ///
    /// Errors: Error{deck} if the file exists and is not a machine file; its problems are printed
    spec::MachineSpec machine() const;
    /// Writes the file and prints its path; prints a warning if there is no path.
    void keep(const spec::MachineSpec& machine) const;

  private:
    std::string path_;  ///< empty if the environment names no configuration folder
};

}  // namespace ziggurat::app
