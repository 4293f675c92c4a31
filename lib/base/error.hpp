/// Errors that reach a person.
///
/// A message reads: problem (why it is one). What to do about it.
/// Lower case first letter, values quoted, units always written out:
///   "cannot open '/nvme0/zig' (No such file or directory). Set tiers.nvme.paths to a mounted disk."
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace ziggurat {

/// Kinds of errors, by who must act on them. The process exit code is the enumerator's value.
enum class ErrorKind {
    deck = 2,        ///< the deck or the command line asks for something impossible: the user edits it
    resource = 3,    ///< memory, disk, ranks or a device are missing or fail: the user or operator adds some
    checkpoint = 4,  ///< no usable checkpoint where one was asked for: a person decides
    numerics = 5,    ///< the training itself broke down
    communication = 6,  ///< MPI, NCCL or a peer failed or hangs: the job may be tried again
    internal = 70,      ///< a broken invariant: we fix a bug
};

/// Not an error: the run stopped as it was asked to and there is more to do (EX_TEMPFAIL).
inline constexpr int exit_code_run_again = 75;

/// The one exception type that the library throws.
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
