/// Instructions that the program was compiled to and that this processor may lack.
///
/// A source of its own, compiled for every processor of the architecture, asks before any other code of ours
/// runs, so that a program from another machine says what it lacks and does not die of an illegal
/// instruction.
#pragma once

#include <cstddef>

namespace ziggurat::kernels {

/// Whether the processor (or a test's idea of it) and the operating system support a feature.
using HasFeature = bool (*)(const char* name);

/// What the program was compiled to, as the compiler says; ends with a null pointer.
extern const char* const compiled_features[];

/// Asks this processor; unknown names are taken for supported.
bool processor_has(const char* name);

/// Writes what is missing of `required` (which ends with null), why that matters and what to do, or nothing.
///
/// Only plain C in here and no templates: of an inline function the linker may keep the copy that another
/// source compiled to the very instructions in question.
///
/// \param text  takes at most `capacity` bytes, the closing null included
/// \return how many features are missing
int describe_missing_features(const char* const* required, HasFeature has, char* text, std::size_t capacity);

/// True once the check has run and found nothing missing. Who reads it has the check in its program.
extern bool features_are_checked;

}  // namespace ziggurat::kernels
