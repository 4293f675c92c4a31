#include "tests/support/counted_allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local long count = 0;

}  // namespace

namespace ziggurat::test {

long allocations_so_far() {
    return count;
}

}  // namespace ziggurat::test

// Every form is replaced: a sanitizer would replace the others, and then see memory of two kinds.
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    ++count;
    return std::malloc(bytes == 0 ? 1 : bytes);
}

void* operator new(std::size_t bytes) {
    if (void* memory = operator new(bytes, std::nothrow)) {
        return memory;
    }
    throw std::bad_alloc{};
}

void* operator new[](std::size_t bytes) {
    return operator new(bytes);
}

void* operator new[](std::size_t bytes, const std::nothrow_t& tag) noexcept {
    return operator new(bytes, tag);
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
    std::free(memory);
}

void operator delete[](void* memory) noexcept {
    std::free(memory);
}

void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
    std::free(memory);
}
