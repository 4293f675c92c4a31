#include "storage/io_error.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/text/units.hpp"

namespace ziggurat::storage {
namespace {

std::atomic<WriteFault> current_fault{nullptr};
std::atomic<WriteFault> current_read_fault{nullptr};

}  // namespace

const char* remedy_of(int error_number) noexcept {
    switch (error_number) {
        case ENOSPC:
            return "Free some space there, or use a file system with more space.";
        case EDQUOT:
            return "Free some of your quota there, or use a file system with more quota.";
        case EFBIG:
            return "Raise the limit on the size of files (ulimit -f), or use a file system that supports "
                   "larger files.";
        case EIO:
            return "The disk or its connection has failed. Use another disk, and contact the administrator.";
        case EROFS:
        case EACCES:
        case EPERM:
            return "Use a directory that you may write to.";
        case EMFILE:
        case ENFILE:
            return "Raise the limit on open files (ulimit -n).";
        case ENOENT:
            return "Check that its folder exists, and that no other program removes files while this one "
                   "runs.";
        default:
            return "Check its file system.";
    }
}

void throw_io_error(const std::string& what, const std::string& path, int error_number) {
    throw Error{ErrorKind::resource, "cannot " + what + " '" + path + "' (" + std::strerror(error_number) +
                                         "). " + remedy_of(error_number)};
}

std::string describe_transfer(const char* verb, std::int64_t bytes, std::int64_t offset_bytes) {
    return std::string{verb} + " " + format_grouped(bytes) + " bytes at offset " +
           format_grouped(offset_bytes) + " of";
}

void set_write_fault(WriteFault fault) noexcept {
    current_fault = fault;
}

void set_read_fault(WriteFault fault) noexcept {
    current_read_fault = fault;
}

int planned_fault(const std::string& path, std::int64_t offset_bytes, std::int64_t bytes) noexcept {
    const WriteFault fault = current_fault;
    return fault == nullptr ? 0 : fault(path.c_str(), offset_bytes, bytes);
}

int planned_read_fault(const std::string& path, std::int64_t offset_bytes, std::int64_t bytes) noexcept {
    const WriteFault fault = current_read_fault;
    return fault == nullptr ? 0 : fault(path.c_str(), offset_bytes, bytes);
}

}  // namespace ziggurat::storage
