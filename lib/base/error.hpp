/// Errors that are shown to the user.
///
/// Form of a message: problem (reason). Remedy.
/// It begins with a lower-case letter, quotes values and gives units:
///   "cannot open '/nvme0/zig' (No such file or directory). Set tiers.nvme.paths to a mounted disk."
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace ziggurat {

/// Kinds of errors, by who must act on them.
///
/// The value of an enumerator is the exit code of the process.
enum class ErrorKind {
    deck = 2,        ///< the deck or the command line is invalid: the user edits it
    resource = 3,    ///< memory, disk, ranks or a device are missing or fail: the user or operator adds some
    checkpoint = 4,  ///< no usable checkpoint exists where one was requested: the user decides
    numerics = 5,    ///< the training diverged
    communication = 6,  ///< MPI, NCCL or a peer failed or hangs: the job may be tried again
    internal = 70,      ///< a broken invariant: a bug in Ziggurat
};

/// Exit code (EX_TEMPFAIL) of a run that stopped on request before it was complete. Not an error.
inline constexpr int exit_code_run_again = 75;

/// The only exception type that the library throws, except Stopped (stop_check.hpp).
class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind,
          const std::string& message,
          std::source_location where = std::source_location::current());

    ErrorKind kind() const noexcept { return kind_; }
    int exit_code() const noexcept { return static_cast<int>(kind_); }
    std::source_location where() const noexcept { return where_; }

  private:
    ErrorKind kind_;
    std::source_location where_;
};

}  // namespace ziggurat
