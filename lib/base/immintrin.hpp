/// Wrapper of <immintrin.h>: vector intrinsics, on x86 only.
#pragma once

// g++ 12 warns about undefined operands inside its own header (GCC bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
