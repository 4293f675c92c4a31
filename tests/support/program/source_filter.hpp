/// Selection of tests by the source file that defines them: the files of a folder share one program.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ziggurat::test {

/// A test of this program.
struct KnownTest {
    std::string name;    ///< "Suite.Test"
    std::string source;  ///< path as given to the compiler
};

/// Returns the value of --gtest_filter for the tests of `file`, for example
/// "unit/train/step_line_test.cpp".
///
/// Errors: std::invalid_argument if that file has no test here, or if another file has a test of the same
/// name
std::string filter_of_file(std::span<const KnownTest> tests, std::string_view file);

/// Reads the command line of a test program: GoogleTest's options, and --file=FILE, which selects its
/// tests.
///
/// Errors: std::invalid_argument for other arguments
void read_arguments(int argc, char** argv);

}  // namespace ziggurat::test
