/// The processor's vector instructions, as <immintrin.h>, on x86 alone.
#pragma once

// g++ 12 takes the undefined operands inside its own header for mistakes (its bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
