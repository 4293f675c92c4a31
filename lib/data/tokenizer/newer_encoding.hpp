/// UTF-8 for Oniguruma, with the letter pairs of Unicode 16.
#pragma once

#include <oniguruma.h>

namespace ziggurat::data {

/// Oniguruma's UTF-8 that also matches the pairs of a capital and a small letter that its tables lack, where
/// case does not count: in `(?i:[\p{Lu}])` and in `(?i:x)`. It has to be initialised by onig_initialize().
OnigEncoding newer_utf8();

}  // namespace ziggurat::data
