#include "checkpoint/hf/safetensors_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/hf/safetensors_entries.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::int64_t length_bytes = 8;

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path) : path_{std::move(path)} {
    if (const auto other = irregular_file(path_); !other.empty()) {
        refuse_model_file(path_, fmt::format("it is {}, not a file", other));
    }
    file_ = open_for_reading(path_);
    if (!file_) {
        refuse_model_file(path_, "there is no such file");
    }
    struct stat facts {};
    if (::fstat(file_.get(), &facts) != 0) {
        storage::throw_io_error("read", path_, errno);
    }
    const auto size = static_cast<std::int64_t>(facts.st_size);
    expect_tensors(size);
    if (size < length_bytes) {
        refuse_model_file(path_, fmt::format("it has {} bytes, too few for a header", size));
    }
    std::uint64_t length = 0;
    read_at(0, std::as_writable_bytes(std::span{&length, 1}), "its first bytes");
    if (length > static_cast<std::uint64_t>(max_header_bytes)) {
        refuse_model_file(path_,
                          fmt::format("its header has {} bytes, more than {}", length, max_header_bytes));
    }
    const auto header_bytes = static_cast<std::int64_t>(length);
    if (header_bytes > size - length_bytes) {
        refuse_model_file(path_, fmt::format("its header has {} bytes and the file {}", header_bytes, size));
    }
    std::string header(length, '\0');
    read_at(length_bytes, std::as_writable_bytes(std::span{header}), "its header");
    data_begin_ = length_bytes + header_bytes;
    header_ = parse_header(header, size - data_begin_, path_);
}

void SafetensorsFile::expect_tensors(std::int64_t size) const {
    std::string first(std::min<std::int64_t>(size, recognised_bytes), '\0');
    read_at(0, std::as_writable_bytes(std::span{first}), "its first bytes");
    const bool has_header = first.size() > length_bytes && first[length_bytes] == '{';
    if (const auto found = recognise_file(first); found && !has_header) {
        throw Error{ErrorKind::checkpoint, fmt::format("cannot use '{}' (it is {}). {}", printable(path_),
                                                       found->what, found->remedy)};
    }
}

void SafetensorsFile::read(const FileTensor& tensor,
                           std::int64_t offset_bytes,
                           std::span<std::byte> into) const {
    ZG_EXPECTS(offset_bytes >= 0 && std::ssize(into) <= tensor.end_bytes - tensor.begin_bytes - offset_bytes);
    read_at(data_begin_ + tensor.begin_bytes + offset_bytes, into, tensor.name);
}

void SafetensorsFile::read_at(std::int64_t offset_bytes,
                              std::span<std::byte> into,
                              const std::string& what) const {
    constexpr std::size_t max_at_once = std::size_t{1} << 30;
    while (!into.empty()) {
        int problem = storage::planned_read_fault(path_, offset_bytes, std::ssize(into));
        ::ssize_t moved = -1;
        if (problem == 0) {
            moved = ::pread(file_.get(), into.data(), std::min(into.size(), max_at_once), offset_bytes);
            problem = moved < 0 ? errno : 0;
        }
        if (problem == EINTR) {
            continue;
        }
        if (problem != 0) {
            storage::throw_io_error(storage::describe_transfer("read", std::ssize(into), offset_bytes), path_,
                                    problem);
        }
        if (moved == 0) {
            refuse_model_file(path_,
                              fmt::format("it ends at offset {}, within {}", offset_bytes, printable(what)));
        }
        into = into.subspan(moved);
        offset_bytes += moved;
    }
}

}  // namespace ziggurat::checkpoint::hf
