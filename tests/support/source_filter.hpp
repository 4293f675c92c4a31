/// Choice of tests by the source file that holds them: the files of a folder share one program.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ziggurat::test {

/// A test of this program.
struct KnownTest {
    std::string name;    ///< "Suite.Test"
    std::string source;  ///< as the compiler called it
};

/// The value of --gtest_filter that leaves the tests of `file`, for instance "unit/train/step_line_test.cpp".
/// Throws std::invalid_argument where that file has no test here, or a test whose name another file has as
/// well.
std::string filter_of_file(std::span<const KnownTest> tests, std::string_view file);

/// Reads the command line of a test program, GoogleTest's options and --file=FILE, which leaves the tests of
/// that file alone. Throws std::invalid_argument for all that is neither.
void read_arguments(int argc, char** argv);

}  // namespace ziggurat::test
