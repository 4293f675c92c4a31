/// Number of threads that a test program has started, without those of OpenMP.
#pragma once

namespace ziggurat::test {

/// Returns the number; 0 if the compiler's sanitizers intercept threads themselves.
int started_threads();

/// Checks that THREADS of the CTest entry lists a file if and only if its tests started threads.
///
/// Returns 0, or an exit status after printing a message. A file outside of THREADS is not run under the
/// thread sanitizer, because one thread has no races. Without ZIGGURAT_TEST_THREADS in the environment,
/// always returns 0.
int check_started_threads();

}  // namespace ziggurat::test
