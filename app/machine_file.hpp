/// MachineFile: where what is measured of this machine is kept.
#pragma once

#include <string>

#include "app/cli.hpp"
#include "spec/machine_spec.hpp"

namespace ziggurat::app {

/// The user's own file of this machine, or the one that --machine-file names.
class MachineFile {
  public:
    /// Makes its folder: what cannot be kept would be measured in vain.
    ///
    /// Errors: Error{resource} when nothing can be written there
    explicit MachineFile(const Arguments& arguments);

    /// What it says; this machine where it is not there.
    ///
    /// Errors: Error{deck} when it is there and is not a machine file, which is told
    spec::MachineSpec machine() const;
    /// Writes it and says where, or warns that it is not kept where there is no place for it.
    void keep(const spec::MachineSpec& machine) const;

  private:
    std::string path_;  ///< empty: there is no place
};

}  // namespace ziggurat::app
