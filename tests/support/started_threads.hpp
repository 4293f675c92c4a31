/// Count of the threads that a test program has started, without those of OpenMP.
#pragma once

namespace ziggurat::test {

/// 0 where the compiler's sanitizers watch threads themselves.
int started_threads();

/// Whether the entry of CTest says THREADS exactly where the tests that have run started threads: 0, or an
/// exit status beside a message. A test without it is not run under the thread sanitizer, which has nothing
/// to find where there is one thread. Without ZIGGURAT_TEST_THREADS in the environment anything goes.
int check_started_threads();

}  // namespace ziggurat::test
