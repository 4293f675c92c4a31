#include "tests/support/program/started_threads.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ziggurat::test {
namespace {

std::atomic<int> started{0};

bool is_openmp(void* caller) {
    dl_find_object found{};
    return _dl_find_object(caller, &found) == 0 && std::strstr(found.dlfo_link_map->l_name, "omp") != nullptr;
}

}  // namespace

int started_threads() {
    return started;
}

int check_started_threads() {
    const char* const printed = std::getenv("ZIGGURAT_TEST_THREADS");
    if (printed == nullptr || (started > 0) == (printed == std::string_view{"yes"})) {
        return 0;
    }
    std::fprintf(
        stderr, started > 0 ? "These tests start threads, so the thread sanitizer has to see them: add the "
                              "file to THREADS of ziggurat_unit_tests in its CMakeLists.txt.\n"
                            : "These tests start no thread, so the thread sanitizer finds nothing in them: "
                              "take the file out of THREADS of ziggurat_unit_tests in its CMakeLists.txt.\n");
    return 1;
}

}  // namespace ziggurat::test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Replaces the system's function, for all libraries of the process.
extern "C" int pthread_create(pthread_t* thread,
                              const pthread_attr_t* attributes,
                              void* (*function)(void*),
                              void* argument) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    if (!ziggurat::test::is_openmp(__builtin_return_address(0))) {
        ++ziggurat::test::started;
    }
    return create(thread, attributes, function, argument);
}
#endif
