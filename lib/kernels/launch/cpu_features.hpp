/// Check for CPU instructions that the program was compiled for.
///
/// The check is compiled in its own source file for the baseline processor of the architecture. It runs
/// before all other code of Ziggurat. A program that was built on another machine then prints the missing
/// features and does not die of an illegal instruction.
#pragma once

#include <cstddef>

namespace ziggurat::kernels {

/// Predicate: true if the processor, or a test's mock of it, and the system support a feature.
using HasFeature = bool (*)(const char* name);

/// Features that the program was compiled for, from compiler macros; ends with a null pointer.
extern const char* const compiled_features[];

/// Returns true if this processor supports the feature. Unknown names count as supported.
bool processor_has(const char* name);

/// Writes the missing features of `required` (null-terminated), the consequence and the remedy.
///
/// Writes an empty text if no feature is missing. Uses only plain C without templates: for an inline
/// function, the linker may keep a copy from another source that was compiled to the instructions in
/// question.
///
/// \param text  receives at most `capacity` bytes, including the terminating null
/// \return the number of missing features
int describe_missing_features(const char* const* required, HasFeature has, char* text, std::size_t capacity);

/// True after the check has passed. Code that reads it links the check into its program.
extern bool features_are_checked;

}  // namespace ziggurat::kernels
