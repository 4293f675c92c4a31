#include "checkpoint/hf/safetensors_writer.hpp"

#include <unistd.h>

#include <string_view>
#include <utility>

#include "base/contract.hpp"
#include "checkpoint/hf/file_types.hpp"
#include "storage/directory.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

constexpr const char* remedy = "Name a writable folder on a disk with free space.";

}  // namespace

std::int64_t assign_offsets(std::vector<FileTensor>& tensors) {
    std::int64_t end = 0;
    for (auto& tensor : tensors) {
        tensor.begin_bytes = end;
        end += tensor.elements() * bytes_of(tensor.type);
        tensor.end_bytes = end;
    }
    return end;
}

SafetensorsWriter::SafetensorsWriter(std::string path, std::vector<FileTensor> tensors)
    : path_{std::move(path)},
      unfinished_{path_ + ".tmp"},
      file_{open_for_writing(unfinished_, OpenMode::replace, remedy)} {
    const auto bytes = assign_offsets(tensors);
    const auto header = header_text(tensors);
    const std::uint64_t length = header.size();
    size_ = static_cast<std::int64_t>(sizeof length + header.size()) + bytes;
    try {
        append(std::as_bytes(std::span{&length, 1}));
        append(std::as_bytes(std::span{header}));
    } catch (...) {
        ::unlink(unfinished_.c_str());
        throw;
    }
}

SafetensorsWriter::~SafetensorsWriter() {
    if (!is_finished_) {
        ::unlink(unfinished_.c_str());
    }
}

void SafetensorsWriter::append(std::span<const std::byte> bytes) {
    ZG_EXPECTS(written_ + std::ssize(bytes) <= size_);
    int problem = storage::planned_fault(unfinished_, written_, std::ssize(bytes));
    if (problem == 0) {
        problem = write_all(file_.get(),
                            std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    if (problem != 0) {
        storage::throw_io_error(storage::describe_transfer("write", std::ssize(bytes), written_), unfinished_,
                                problem);
    }
    written_ += std::ssize(bytes);
}

void SafetensorsWriter::finish() {
    ZG_EXPECTS(written_ == size_);
    storage::flush_file(file_.get(), unfinished_);
    storage::rename_path(unfinished_, path_);
    is_finished_ = true;
}

}  // namespace ziggurat::checkpoint::hf
