/// Error of a failed operation on a file, with the system's reason and a remedy.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::storage {

/// Returns a sentence that describes a remedy for `error_number`.
const char* remedy_of(int error_number) noexcept;

/// Throws Error{resource}: `cannot <what> '<path>' (<reason of error_number>). <what to do about it>.`
[[noreturn]] void throw_io_error(const std::string& what, const std::string& path, int error_number);

/// Returns `write 4,096 bytes at offset 8,192 of`, for throw_io_error().
std::string describe_transfer(const char* verb, std::int64_t bytes, std::int64_t offset_bytes);

/// Fault injection for tests: function that is called before each write, reservation, flush, rename.
///
/// Its arguments are the path, and offset and bytes if applicable. Its result is used as the system's errno;
/// 0: no fault. The setting applies to the whole process. Production code never sets it.
using WriteFault = int (*)(const char* path, std::int64_t offset_bytes, std::int64_t bytes);
void set_write_fault(WriteFault fault) noexcept;

/// Sets a function that is called before each read.
void set_read_fault(WriteFault fault) noexcept;

/// Returns the result of the fault function; 0 if none is set.
int planned_fault(const std::string& path, std::int64_t offset_bytes, std::int64_t bytes) noexcept;
int planned_read_fault(const std::string& path, std::int64_t offset_bytes, std::int64_t bytes) noexcept;

}  // namespace ziggurat::storage
