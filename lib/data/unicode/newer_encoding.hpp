/// UTF-8 for Oniguruma, with the letter pairs of Unicode 16.
#pragma once

#include <oniguruma.h>

namespace ziggurat::data {

/// Returns Oniguruma's UTF-8, extended by the case pairs that its tables lack.
///
/// They match if case does not count: in `(?i:[\p{Lu}])` and in `(?i:x)`. onig_initialize() must initialise
/// it.
OnigEncoding newer_utf8();

}  // namespace ziggurat::data
